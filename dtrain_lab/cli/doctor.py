"""`dtrain-lab doctor`: a report to attach to bug reports, and a self-test with real ranks (`selftest`)."""

from __future__ import annotations

import platform
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Any

import click
import msgspec

from dtrain_lab._version import __version__
from dtrain_lab.api.portal import Portal
from dtrain_lab.cli import selftest
from dtrain_lab.cli.base.show import as_json, console, print_json, reports_errors, sentence
from dtrain_lab.errors import BadRequest, DtrainError
from dtrain_lab.machine.facts import local_facts
from dtrain_lab.machine.folders import RUNTIME_VARIABLE
from dtrain_lab.services import paths
from dtrain_lab.services.bug_report import bundle as pack
from dtrain_lab.services.bug_report import process_log
from dtrain_lab.services.profiles import files as profiles

PACKAGES = ("torch", "ipyparallel", "ipykernel", "jupyterlab", "jupyter_server", "pyzmq", "msgspec", "numpy")
FOLDERS: dict[str, Callable[[], Path]] = {
    "records": paths.records,
    "sockets": paths.sockets,
    "profiles": paths.profiles,
}
MOVED = {
    "records": "Clusters are found by their records: set HOME or JUPYTER_RUNTIME_DIR to a folder of yours.",
    "sockets": f"Set {RUNTIME_VARIABLE} to a folder of yours.",
    "profiles": "Set HOME or JUPYTER_CONFIG_DIR to a folder of yours.",
}
LABELS = {"torch_lacks": "torch lacks"}
"""Keys of the report in words."""
LATELY_S = 86400.0
LOADS_WITHIN_S = 120.0
"""Seconds that torch may take to load; on a network file system it needs up to half a minute."""
MOST_JOBS = 50


@click.command()
@click.option("--run", "runs", is_flag=True, help="Also start ranks, interrupt, kill and replace them.")
@click.option("--gpu", is_flag=True, help="As --run, on real GPUs; fails on a machine without a GPU.")
@click.option("--ranks", type=int, help="Number of ranks of --run or --gpu.")
@click.option(
    "--bundle",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.tar.gz",
    help="Also pack what a bug report needs: logs, versions, profiles and states, without secrets.",
)
@as_json
@reports_errors
def doctor(runs: bool, gpu: bool, ranks: int | None, bundle: Path | None, as_json: bool) -> None:
    """Report on this installation."""
    if ranks is not None and not (runs or gpu):
        raise BadRequest("--ranks starts nothing by itself.", "Add --run, or --gpu.", code="bad_usage")
    report: dict[str, Any] = {"dtrain_lab": __version__, **_facts()}
    if runs or gpu:
        report["trial"] = selftest.run(gpu, ranks)
    report["ok"] = all(step["ok"] for step in report.get("trial", [])) and not report["problems"]
    if bundle is not None:
        report["bundle"] = _bundle(bundle, report)
    if as_json:
        print_json(report)
    else:
        _print(report)
    sys.exit(0 if report["ok"] else 1)


def _bundle(file: Path, report: dict[str, Any]) -> str:
    """Write the archive; returns a sentence with its path and contents.

    Raises:
        BadRequest: The archive can't be written.
    """
    portal = Portal.get()
    states: dict[str, Any] = {}
    asks: dict[str, Callable[[], Coroutine[Any, Any, Sequence[Any]]]] = {
        "clusters": portal.worlds.clusters,
        "jobs": lambda: portal.jobs.listing(MOST_JOBS),
    }
    for name, ask in asks.items():
        try:
            states[name] = [msgspec.to_builtins(entry) for entry in portal.call(ask())]
        except (DtrainError, OSError, sqlite3.Error) as error:  # the rest is still useful
            states[name] = [{"error": f"{type(error).__name__}: {error}"}]
    try:
        names = pack.write(file, report, states)
    except OSError as error:
        raise BadRequest(f"{file} can't be written: {error.strerror}.", "Name another file.") from error
    return f"{file}: {len(names)} files, without secrets; look through it before you send it"


def _recent_failures() -> dict[str, str]:
    """Return failures of dtrain-lab's own processes in the last day."""
    texts = {}
    try:
        by_process = process_log.recent_failures(time.time() - LATELY_S)
        texts = {who: "; ".join(t.text for t in failures) for who, failures in by_process.items()}
        portal = Portal.get()
        for cluster in portal.call(portal.worlds.clusters()):
            if cluster.troubles:
                texts[f"cluster {cluster.name}"] = "; ".join(t.text for t in cluster.troubles)
    except (DtrainError, OSError) as error:
        texts["clusters"] = f"can't be asked: {sentence(error)}"
    return texts


def _facts() -> dict[str, Any]:
    here = local_facts()
    packages = {name: _version(name) for name in PACKAGES}
    problems = []
    if packages["torch"] is None:
        problems.append(f"torch is missing: {sys.executable} -m pip install torch")
    try:
        problems += [item.error.message for item in profiles.listing() if item.error]
    except OSError as error:
        problems.append(f"profiles: {sentence(error)}")
    used: dict[str, str] = {}
    for name, find in FOLDERS.items():
        try:
            used[name] = str(find())
        except (
            DtrainError,
            OSError,
        ) as error:  # for example, a home folder that is gone: the rest is still checked
            used[name] = "can't be used"
            problems.append(f"the folder of {name}: {sentence(error)} {MOVED[name]}")
    lacks: list[str] = []
    if packages["torch"] is not None:
        try:
            lacks = _torch_lacks()
        except (OSError, subprocess.SubprocessError) as error:
            problems.append(f"torch can't be loaded: {_last_line(error)}")
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "machine": {
            "cpus": here.cpus,
            "gpus": here.gpus,
            "memory_gib": round(here.memory_bytes / 2**30, 1),
            "open_files": _open_files(),
        },
        "packages": packages,
        "torch_lacks": lacks,
        "folders": used,
        "recovered": _recent_failures(),
        "problems": problems,
    }


def _torch_lacks() -> list[str]:
    """Return features that are off because this torch lacks a private name, each with its consequence.

    Another process finds them, since this one does not load torch.

    Raises:
        OSError, SubprocessError: torch can't be loaded.
    """
    command = [sys.executable, "-P", "-m", "dtrain_lab.rank.torch"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LOADS_WITHIN_S, check=True)
    return done.stdout.splitlines()


def _last_line(error: Exception) -> str:
    """Return the end of what a failed process printed, or else the error itself."""
    printed = error.stderr if isinstance(error, subprocess.CalledProcessError) else ""
    return ((printed or "").strip() or str(error)).splitlines()[-1]


def _version(name: str) -> str | None:
    if util.find_spec(name if name != "pyzmq" else "zmq") is None:
        return None
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "unknown"


def _open_files() -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _print(report: dict[str, Any]) -> None:
    for name, value in report.items():
        key = LABELS.get(name, name)
        if key == "trial":
            for step in value:
                mark = "ok " if step["ok"] else "BAD"
                console.print(f"  {mark} {step['seconds']:6.2f} s  {step['step']}: {step['message']}")
        elif value in ([], {}):  # nothing is wrong there
            continue
        elif isinstance(value, dict):
            console.print(f"{key}:")
            for part, entry in value.items():
                console.print(f"  {part}: {entry if entry is not None else 'not installed'}")
        elif isinstance(value, list):
            console.print(f"{key}:")
            for entry in value:
                console.print(f"  {entry}")
        else:
            console.print(f"{key}: {value}")
