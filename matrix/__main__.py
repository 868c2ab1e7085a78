"""Runs the short set of tests in each environment and writes docs/matrix.md: `make matrix`.

`python -m matrix NAME…` runs some environments; the table keeps the last run of the others. An environment
is built once, in .venv/matrix; one whose Python this machine lacks is left out, and the table says so.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "matrix.md"
FOUND = ROOT / ".venv" / "matrix.json"
"""Of all runs so far: an environment can be run again."""
TESTS = {
    "pure logic": ("tests/unit",),
    "cells, data": ("tests/integration/test_cells.py", "tests/integration/test_data.py"),
    "notebook kernel": ("tests/integration/test_kernel.py", "tests/integration/test_widgets.py"),
    "faults, hangs": ("tests/integration/test_faults.py", "tests/integration/test_hangs.py"),
    "debugger": ("tests/integration/test_debugger.py", "tests/integration/test_kernel_debugger.py"),
    "jobs": ("tests/integration/test_jobs_local.py",),
}
LIMIT_S = 1200
HEAD = """# Environments

Made by `make matrix`: the short set of tests (cells, kernel, faults, debugger, jobs, pure logic), on one
machine without GPUs. `make test` runs everything on Python 3.11 and the torch of `constraints.txt`.
"""


@dataclass(frozen=True)
class Environment:
    """What is installed. `pins`: requirements that differ from `constraints.txt`."""

    python: str
    torch: str
    pins: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Such as "3.13-torch2.15.0"."""
        return "-".join((self.python, f"torch{self.torch}", *(p.replace("==", "") for p in self.pins)))


ENVIRONMENTS = (
    Environment("3.11", "2.8.0"),
    Environment("3.11", "2.12.1"),
    Environment("3.12", "2.13.0"),
    Environment("3.13", "2.13.0"),
    Environment("3.13", "2.15.0"),
    Environment("3.14", "2.15.0"),
)


@dataclass(frozen=True)
class Ran:
    """How one part of the tests went: numbers of tests, and the names of those that failed."""

    passed: int
    failed: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.passed}" if not self.failed else f"{self.passed}, **{len(self.failed)} failed**"


def python(version: str) -> str | None:
    """A Python of this version: on PATH, or one that pyenv has."""
    folders = sorted(Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob(f"versions/{version}*"))
    return next((str(f / "bin" / "python") for f in folders), None) or shutil.which(f"python{version}")


def build(environment: Environment, base: str) -> Path:
    """Install the product and what its tests need; returns the environment's Python."""
    folder = ROOT / ".venv" / "matrix" / environment.name
    own = folder / "bin" / "python"
    if (folder / "ready").exists():
        return own
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([base, "-m", "venv", str(folder)], check=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    apart = {"torch", *(pin.partition("=")[0] for pin in environment.pins)}
    constraints = folder / "constraints.txt"
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    constraints.write_text("\n".join(line for line in lines if line.partition("=")[0] not in apart))
    pip = [str(own), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    wanted = [
        *project["dependencies"],
        *extras["notebooks"],
        *extras["test"],
        *("hatchling", "hatch-jupyter-builder", "editables"),
    ]
    pinned = [f"torch=={environment.torch}", *environment.pins]
    subprocess.run([*pip, "-c", str(constraints), *pinned, *wanted], check=True)
    built = {**os.environ, "SKIP_JUPYTER_BUILDER": "1"}  # `make setup` has built the front end
    subprocess.run([*pip, "--no-build-isolation", "--no-deps", "-e", str(ROOT)], check=True, env=built)
    (folder / "ready").touch()
    return own


def run(own: Path, files: tuple[str, ...]) -> Ran:
    """Run some of the tests."""
    words = [
        str(own),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not hosts and not browser",
        *files,
    ]
    try:
        done = subprocess.run(
            words,
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PATH": f"{own.parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(0, (f"not over in {LIMIT_S} s",))
    print(done.stdout[-3000:], done.stderr[-1000:], flush=True)
    passed = re.search(r"(\d+) passed", done.stdout)
    # a test that fails may also fail as it ends
    failed = list(dict.fromkeys(re.findall(r"^(?:FAILED|ERROR) \S*::(\S+)", done.stdout, re.MULTILINE)))
    if done.returncode and not failed:
        failed = [f"pytest ended with {done.returncode}"]
    return Ran(int(passed[1]) if passed else 0, tuple(failed))


def page(found: dict[str, dict[str, object]]) -> str:
    """The table of all runs so far."""
    lines = [HEAD, f"| Python, torch | {' | '.join(TESTS)} | run on |", "|---" * (len(TESTS) + 2) + "|"]
    notes = []
    for environment in ENVIRONMENTS:
        title = ", ".join((environment.python, environment.torch, *environment.pins))
        ran = found.get(environment.name)
        if ran is None:
            lines.append(f"| {title} | {' | '.join('–' for _ in TESTS)} | not run |")
            continue
        parts = {name: Ran(**ran[name]) for name in TESTS if name in ran}  # type: ignore[arg-type]
        lines.append(f"| {title} | {' | '.join(str(parts.get(n, '–')) for n in TESTS)} | {ran['date']} |")
        notes += [f"- {title}, {n}: `{'`, `'.join(p.failed)}`" for n, p in parts.items() if p.failed]
    if notes:
        lines += ["", "Failed:", "", *notes]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run those named, or all."""
    found: dict[str, dict[str, object]] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    well = True
    for environment in ENVIRONMENTS:
        if sys.argv[1:] and environment.name not in sys.argv[1:]:
            continue
        base = python(environment.python)
        if base is None:
            print(f"{environment.name}: no Python {environment.python} here")
            continue
        print(f"{environment.name} …", flush=True)
        own = build(environment, base)
        parts = {name: run(own, files) for name, files in TESTS.items()}
        well = well and not any(part.failed for part in parts.values())
        found[environment.name] = {
            "date": date.today().isoformat(),
            **{n: asdict(p) for n, p in parts.items()},
        }
        FOUND.write_text(json.dumps(found, indent=1))
    PAGE.write_text(page(found))
    print(PAGE.read_text())
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
