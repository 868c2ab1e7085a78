"""`make demo` says what it sets up while it does: each step takes up to minutes, and prints nothing else."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_step_of_the_setup_says_what_it_does(tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    made = subprocess.run(
        ["make", "-n", f"VENV={tmp_path}", "demo"],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    steps = [
        step for step in made.split("\ntouch ") if re.search(r"^(npm|\S*python\S* -m) ", step, re.MULTILINE)
    ]
    assert len(steps) == 6
    assert all(re.search(r'^echo ".+[…:]"$', step, re.MULTILINE) for step in steps)
    (packages,) = re.findall(r"^npm ci .*", made, re.MULTILINE)
    assert {"--no-fund", "--no-audit", "--no-update-notifier", ">/dev/null"} <= set(packages.split())
