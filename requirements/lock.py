"""Writes the locks of the development environment: every package but PyTorch, with its hashes.

`make locks` runs it, after a change of pyproject.toml or constraints.txt. pip-tools does the work.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
BUILD = (
    "hatchling>=1.27",
    "jupyter-builder>=1.2,<2",
    "editables",
    "hatch-jupyter-builder>=0.9",
    "setuptools",
)
"""What an editable install needs."""
OF_TORCH = ("filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions")
"""What PyTorch needs: the lock leaves PyTorch itself out, and with it these."""
FOR_TORCH = re.compile(r"(torch|triton|cuda-\S+|nvidia-(?!ml-py)\S+)==")
"""PyTorch, which others need as well, and what its build for GPUs brings along."""
MARKER = re.compile(r" ; python_version \S+ \S+(?= )")
"""A lock serves every Python: where the project needs one version on some, that serves the others, too."""
OPTIONS = (
    *("--quiet", "--generate-hashes", "--strip-extras", "--no-annotate", "--no-header"),
    # no lock names a host: a mirror serves the same files
    *("--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host"),
    *("--allow-unsafe", "--unsafe-package", "torch"),
)


def main() -> None:
    """Write `lab.txt` and `test.txt`; what both have is of one version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    needs = [line for line in project["project"]["dependencies"] if not line.startswith("torch>")]
    lab = [*needs, *extras["lab"], *extras["notebooks"], *BUILD, *OF_TORCH]
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in pins if not line.startswith("torch==")]
    test = _compile([*lab, *extras["test"]], pins, HERE / "test.txt")
    _compile(lab, test, HERE / "lab.txt")


def _compile(needs: list[str], pins: list[str], lock: Path) -> list[str]:
    """Write a lock; returns what it pins."""
    with tempfile.TemporaryDirectory() as folder:
        asked, pinned = Path(folder) / "needs.in", Path(folder) / "pins.txt"
        asked.write_text("\n".join(needs))
        pinned.write_text("\n".join(pins))
        files = ("-c", str(pinned), "-o", str(lock), str(asked))
        subprocess.run([sys.executable, "-m", "piptools", "compile", *OPTIONS, *files], check=True, cwd=ROOT)
    lock.write_text(without_torch(lock.read_text()))
    return [line.split()[0] for line in lock.read_text().splitlines() if "==" in line]


def without_torch(lock: str) -> str:
    """A lock without PyTorch, and without conditions on the Python that made it.

    Args:
        lock: what pip-tools has written: a line for each package, and its hashes, indented, below it.
    """
    kept: list[str] = []
    leaves_out = False
    for line in lock.splitlines():
        if not line.startswith(" "):
            leaves_out = not line or line.startswith("#") or FOR_TORCH.match(line) is not None
        if not leaves_out:
            kept.append(MARKER.sub("", line))
    return "".join(f"{line}\n" for line in kept)


if __name__ == "__main__":
    main()
