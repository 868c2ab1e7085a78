"""What `make` says to people."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_make_lab_says_to_root_how_jupyter_starts(tmp_path: Path) -> None:
    fake = tmp_path / "id"
    fake.write_text("#!/bin/sh\necho 0\n")
    fake.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "-C", str(ROOT), "lab"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**variables, "PATH": path},
    )
    assert done.returncode != 0
    assert done.stderr.startswith(
        "Jupyter does not start as root. Run it as another user or, in a container, with: "
        "make lab LAB_OPTIONS=--allow-root\n"
    ), done.stderr
