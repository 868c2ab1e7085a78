"""The archive for a bug report: versions, profiles, states and logs, with secrets removed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from jupyter_core.paths import jupyter_runtime_dir

from dtrain_lab.errors import DtrainError
from dtrain_lab.services import paths
from dtrain_lab.services.bug_report import redact
from dtrain_lab.services.connection import head_records
from dtrain_lab.wire.processes.head_record import HeadRecord

MOST_OF_A_LOG = 512 << 10
MOST_LOGS = 400
OURS = ("head*.log*", "node*.log*", "forks*.log*", "controller*.log*", "join*.log*", "agent*.log*")
"""Log files that are taken from the folder of a world or a job. Output of ranks is the user's own data and
is left out."""


def write(file: Path, report: Any, states: dict[str, Any]) -> list[str]:
    """Write the archive.

    Args:
        file: Path of the archive, which only this user can read.
        report: Report of `doctor`.
        states: Name → clusters or jobs, as JSON values.

    Returns:
        Names of the files in the archive.

    Raises:
        OSError: The archive can't be written.
    """
    try:
        heads = head_records.living()
    except (OSError, DtrainError):  # the folder can't be used, which the report says
        heads = []
    secrets = _secrets_of_user(heads)
    names = []
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for name, data in _parts(report, states, heads):
            clean = redact.text(data, secrets).encode("utf-8", "replace")
            entry = tarfile.TarInfo(f"dtrain-lab-report/{name}")
            entry.size, entry.mtime, entry.mode = len(clean), int(time.time()), 0o600
            archive.addfile(entry, io.BytesIO(clean))
            names.append(name)
    return names


def _parts(report: Any, states: dict[str, Any], heads: list[HeadRecord]) -> Iterator[tuple[str, str]]:
    yield "report.json", _json(report)
    for name, state in states.items():
        yield f"{name}.json", _json(state)
    for path in sorted(paths.profiles().glob("*.toml")):
        yield f"profiles/{path.stem}.json", _profile(path)
    count = 0
    for place, folder, patterns in _places(states, heads):
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                text = _end_of(path)
                if text and count < MOST_LOGS:
                    count += 1
                    yield f"logs/{place}/{path.name}", text


def _places(states: dict[str, Any], heads: list[HeadRecord]) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    with contextlib.suppress(OSError, DtrainError):
        yield "processes", paths.logs(), ("*.log*", "*.json")
    for head in heads:
        yield f"cluster-{head.id}", Path(head.directory), OURS
    for job in states.get("jobs", []):
        directory = job.get("directory") if isinstance(job, dict) else None
        if directory:
            yield f"job-{job.get('id')}", Path(directory), OURS


def _json(value: Any) -> str:
    return json.dumps(redact.value(msgspec.to_builtins(value)), indent=1, ensure_ascii=False) + "\n"


def _profile(path: Path) -> str:
    """Return a profile as JSON, which drops the comments of its TOML file: they may contain secrets."""
    try:
        return _json(tomllib.loads(path.read_text()))
    except (OSError, ValueError) as error:
        return _json({"unreadable": f"{type(error).__name__}: {str(error)[:200]}"})


def _end_of(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MOST_OF_A_LOG))
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        return f"[can't be read: {error.strerror}]\n"


def _secrets_of_user(heads: list[HeadRecord]) -> set[str]:
    """Collect this user's known secrets, so that they can be removed from every log."""
    secrets = redact.secrets_of(dict(os.environ))
    for path in paths.profiles().glob("*.toml"):
        try:
            profile = tomllib.loads(path.read_text())
        except (OSError, ValueError):
            continue
        variables = profile.get("environment", {}).get("variables", {})
        # any value may be a secret, except numbers
        secrets |= {v for v in variables.values() if isinstance(v, str) and not v.isdigit()}
    for path in Path(jupyter_runtime_dir()).glob("jpserver-*.json"):
        try:
            secrets |= {
                str(v) for k, v in json.loads(path.read_text()).items() if k in ("token", "password") and v
            }
        except (OSError, ValueError, AttributeError):
            continue
    for head in heads:
        secrets |= set(_keys(msgspec.to_builtins(head)))
    return {secret for secret in secrets if len(secret) >= redact.SHORTEST}


def _keys(value: Any, *, inside: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from _keys(entry, inside=inside or name in ("keys", "variables"))
    elif isinstance(value, list):
        for entry in value:
            yield from _keys(entry, inside=inside)
    elif inside and isinstance(value, str) and not value.isdigit() and "/" not in value[:1]:
        yield value
