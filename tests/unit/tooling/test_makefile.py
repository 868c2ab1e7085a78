"""What `make` says to people."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("user", "options", "starts"), [(0, "", False), (0, "--allow-root", True), (1000, "", True)]
)
def test_make_lab_says_to_root_how_jupyter_starts(
    user: int, options: str, starts: bool, tmp_path: Path
) -> None:
    """Jupyter and the set-up are played, so that none is left behind whatever becomes of the test."""
    for name, line in (("id", f"echo {user}"), ("jupyter", 'echo "jupyter $*"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "-C", str(ROOT), "lab", "MAKE=true", f"BIN={tmp_path}", f"LAB_OPTIONS={options}"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**variables, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
    )
    assert ("jupyter lab" in done.stdout) is starts, done.stdout
    assert (done.returncode == 0) is starts
    said = (
        "Jupyter does not start as root. Run it as another user or, in a container, with: "
        "make lab LAB_OPTIONS=--allow-root\n"
    )
    assert done.stderr.startswith(said) is not starts, done.stderr
