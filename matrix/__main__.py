"""Runs the short set of tests in each environment and writes docs/matrix.md: `make matrix`.

`python -m matrix NAME…` runs some environments; the table keeps the last run of the others. An environment
is built once, in .venv/matrix; one whose Python this machine lacks is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from matrix import beside, labs, lowest, tree
from matrix.run import Ran, both, run

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "matrix.md"
FOUND = ROOT / "matrix" / "found.json"
"""Of all runs so far: an environment can be run again, in another checkout, too."""
TESTS = {
    "pure logic": ("tests/unit",),
    "cells, data": (
        "tests/integration/cells/test_cells.py",
        "tests/integration/cells/test_push_pull_diff.py",
    ),
    "notebook kernel": (
        "tests/integration/cells/test_kernel_magics.py",
        "tests/integration/output/test_widgets.py",
    ),
    "faults, hangs": (
        "tests/integration/faults/test_interrupts_and_deaths.py",
        "tests/integration/faults/test_hangs.py",
    ),
    "debugger": (
        "tests/integration/debugger/test_debugger.py",
        "tests/integration/debugger/test_jupyterlab_requests.py",
    ),
    "jobs": ("tests/integration/jobs/test_local_jobs.py",),
}
LIMIT_S = 3600
"""Of a part; a quiet machine needs a tenth of it."""
HEAD = """# Environments

`make matrix` writes this page. It runs the short test set (cells, kernel, faults, debugger, jobs, pure
logic) on one machine without GPUs. Numbers are tests that passed.

- `make test` runs all tests on the Python that it finds (here 3.11) and the torch of `constraints.txt`.
  If Python 3.13 is installed, it also runs some pure logic there, and jobs whose ranks have no torch:
  PyPI's torch for 3.13 can't be imported without 5 GB of CUDA packages.
- *Commit* is the commit that was run; + means with uncommitted changes.
- *All at their lowest* has ipykernel 6.29.5, and everything else as low as pyproject.toml allows.

torch 2.6 and 2.7 are not allowed. On 2.6, ranks start, train with DDP and continue after an interrupt
(tried by hand, 2026-11-26), but its own `fully_shard` can't train on CPUs ('Stream' object has no
attribute 'record_event'), so no test of it could pass. 2.7 was not tried.
"""


@dataclass(frozen=True)
class Environment:
    """What is installed.

    Attributes:
        python: version, such as "3.13".
        torch: version.
        pins: requirements that differ from `constraints.txt`.
        lowest: all that the product needs, at the lowest version that pyproject.toml allows.
    """

    python: str
    torch: str
    pins: tuple[str, ...] = ()
    lowest: bool = False

    @property
    def name(self) -> str:
        """Such as "3.13-torch2.13.0"."""
        if self.lowest:
            return f"{self.python}-{lowest.NAME}"
        return "-".join((self.python, f"torch{self.torch}", *(p.replace("==", "") for p in self.pins)))

    @property
    def title(self) -> str:
        """Such as "3.13, 2.13.0"."""
        return ", ".join((self.python, self.torch, *self.pins, *(["all at their lowest"] * self.lowest)))


ENVIRONMENTS = (
    Environment("3.11", "2.8.0", lowest=True),
    Environment("3.11", "2.8.0"),
    Environment("3.11", "2.9.1"),
    Environment("3.11", "2.10.0"),
    Environment("3.11", "2.11.0"),
    Environment("3.11", "2.12.1"),
    Environment("3.12", "2.13.0"),
    Environment("3.13", "2.13.0"),
    Environment("3.13", "2.14.1"),
    Environment("3.13", "2.15.0"),
    Environment("3.14", "2.14.1"),
)


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
    if environment.lowest:
        lowest.install(own, project, environment.torch)
    else:
        install(own, environment, project)
    pip = [str(own), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    built = {**os.environ, "SKIP_JUPYTER_BUILDER": "1"}  # `make setup` has built the front end
    subprocess.run([*pip, "--no-build-isolation", "--no-deps", "-e", str(ROOT)], check=True, env=built)
    (folder / "ready").touch()
    return own


def install(own: Path, environment: Environment, project: dict[str, Any]) -> None:
    """Install what the product and its tests need.

    Args:
        own: the environment's Python.
        environment: what is wanted.
        project: that table of pyproject.toml.
    """
    folder = own.parents[1]
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


def run_part(own: Path, files: tuple[str, ...], marked: str = "not hosts and not browser") -> Ran:
    """Run some of the tests with an environment's Python; those that fail once more, as `make test` does."""
    words = [str(own), "-m", "pytest", "-q", "-o", f"cache_dir={own.parents[1]}/tried"]
    words += [*(lowest.OPTIONS if own.parents[1].name.endswith(lowest.NAME) else ()), "-m", marked, *files]
    paths = f"{own.parent}:{os.environ['PATH']}"
    environment = {**labs.PATIENCE, **os.environ, "OMP_NUM_THREADS": "1", "PATH": paths}
    ran = run(words, ROOT, environment, LIMIT_S)
    if not ran.failed or not all(name.startswith("test_") for name in ran.failed):  # or pytest was ended
        return ran
    return both(ran, run([*words, "--last-failed"], ROOT, environment, LIMIT_S))


def page(found: dict[str, dict[str, object]]) -> str:
    """The table of all runs so far.

    Args:
        found: by name of the environment its date and parts, or `reason`: why it was not run.
    """
    lines = [
        HEAD,
        f"| Python, torch | {' | '.join(TESTS)} | run on | commit |",
        "|---" * (len(TESTS) + 3) + "|",
    ]
    told: list[tuple[str, dict[str, Ran]]] = []
    for environment in ENVIRONMENTS:
        title = environment.title
        ran = found.get(environment.name)
        if ran is None or "reason" in ran:
            why = ran["reason"] if ran else ""
            lines.append(
                f"| {title} | {' | '.join('–' for _ in TESTS)} | not run{f': {why}' if why else ''} | – |"
            )
            continue
        parts = read_parts(ran, TESTS)
        cells = [title, *(str(parts.get(n, "–")) for n in TESTS), ran["date"], tree.told(ran, TESTS)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
        told.append((title, parts))
    rows: dict[str, tuple[str, ...]] = {}
    for name in labs.NAMES:
        if kept := found.get(name):
            parts = read_parts(kept, labs.TESTS)
            how = (str(parts.get(part, "–")) for part in labs.TESTS)
            rows[name] = (*how, str(kept["date"]), tree.told(kept, labs.TESTS))
            told.append((f"JupyterLab {labs.NAMES[name]}", parts))
    lines += labs.section(rows)
    ran = found.get(beside.NAME)
    parts = read_parts(ran or {}, beside.TESTS)
    lines += beside.section(ran, {name: str(part) for name, part in parts.items()})
    told.append((beside.NAME, parts))
    notes = [f"- {t}, {n}: `{'`, `'.join(p.failed)}`" for t, ps in told for n, p in ps.items() if p.failed]
    again = [f"- {t}, {n}: `{'`, `'.join(p.again)}`" for t, ps in told for n, p in ps.items() if p.again]
    if notes:
        lines += ["", "Failed:", "", *notes]
    if again:
        lines += ["", "Passed at a later try:", "", *again]
    return "\n".join(lines) + "\n"


def read_parts(ran: dict[str, object], names: Iterable[str]) -> dict[str, Ran]:
    """How the parts of a run went, by their names."""
    return {name: Ran(**ran[name]) for name in names if name in ran}  # type: ignore[arg-type]


def kept_runs() -> dict[str, dict[str, Any]]:
    """All runs so far, by name of the environment."""
    return json.loads(FOUND.read_text()) if FOUND.exists() else {}


def main() -> int:
    """Run those named, or all."""
    parser = argparse.ArgumentParser(prog="python -m matrix", description=__doc__)
    parser.add_argument("names", nargs="*", help="environments, such as 3.13-torch2.13.0; without one: all")
    parts = [*TESTS, *labs.TESTS, *beside.TESTS]
    parser.add_argument("--part", action="append", choices=parts, help="of the tests; without one: all")
    wanted = parser.parse_args()
    found = kept_runs()
    well = True
    commit = tree.commit(ROOT)

    def run_all(name: str, own: Path, tests: dict[str, tuple[str, ...]], *marked: str) -> None:
        nonlocal well
        for part in [p for p in wanted.part or tests if p in tests]:
            ran = run_part(own, tests[part], *marked)
            well = well and not ran.failed
            found.update(kept_runs())  # of another run beside this one, too
            kept = {k: v for k, v in found.get(name, {}).items() if k != "reason"}
            kept |= {"date": date.today().isoformat(), part: asdict(ran)}
            kept["commits"] = {**kept.get("commits", {}), part: commit}
            found[name] = kept
            FOUND.write_text(json.dumps(found, indent=1) + "\n")

    for environment in ENVIRONMENTS:
        if wanted.names and environment.name not in wanted.names:
            continue
        base = python(environment.python)
        if base is None:
            found.setdefault(environment.name, {"reason": f"no Python {environment.python} on this machine"})
            continue
        print(f"{environment.name} …", flush=True)
        try:
            own = build(environment, base)
        except subprocess.CalledProcessError:  # pip has said why
            reason = f"torch {environment.torch} can't be installed on this machine"
            found.setdefault(environment.name, {"reason": reason})
            FOUND.write_text(json.dumps(found, indent=1) + "\n")
            continue
        run_all(environment.name, own, TESTS)
    for name, version in labs.NAMES.items():
        if not wanted.names or name in wanted.names:
            print(f"{name} …", flush=True)
            run_all(name, labs.build(version), labs.TESTS, labs.MARKED)
    if not wanted.names or beside.NAME in wanted.names:
        print(f"{beside.NAME} …", flush=True)
        run_all(beside.NAME, beside.build(), beside.TESTS, "not hosts")
    PAGE.write_text(page({**found, **kept_runs()}))
    print(PAGE.read_text())
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
