"""The table of faults: tests note what they measured, and `python -m tests.faults` writes docs/faults.md."""

from __future__ import annotations

import fcntl
import json
import os
import platform
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTES = Path(os.environ.get("DTRAIN_LAB_FAULTS", ROOT / "docs" / "_faults.json"))
HEAD = """# What happens when something breaks

The tests kill and disconnect real processes and hosts, and measure this table: `make test`, then
`python -m tests.faults`; {machine}. The last column names a state, and the time from the fault until then.

| Fault | Detected by | Message | What is kept | Time |
|---|---|---|---|---|
"""


def note(fault: str, who: str, text: str, kept: str, what: str, seconds: float) -> None:
    """Keep a row; a later run replaces it. Two runs of tests may write at once."""
    with NOTES.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        rows = json.loads(file.read() or "{}")
        rows[fault] = [who, text, kept, f"{what}: {seconds:.2f} s"]
        file.truncate(0)
        file.write(json.dumps(rows, indent=1))


def read(page: Path) -> list[list[str]]:
    """The rows of the page, each as its cells."""
    lines = [line for line in page.read_text().splitlines() if line.startswith("|")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


def main() -> None:
    """Write the page. Rows whose tests have not run here (without Slurm, say) stay as they were."""
    page = ROOT / "docs" / "faults.md"
    rows = {name: cells for name, *cells in read(page)} | json.loads(NOTES.read_text())
    lines = [f"| {fault} | {' | '.join(cells)} |" for fault, cells in rows.items()]
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    page.write_text(HEAD.format(machine=machine) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
