"""Decoding of the files in a job's folder. Pure: the caller reads the files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.folder import Doing, End, EndCommandResult, FolderState, Live, Staging
from dtrain_lab.wire.jobs.job import JobError

PATTERNS = (
    job_files.EXIT,
    job_files.END_COMMAND,
    job_files.PREEMPTED,
    f"{job_files.EXIT}.*",
    "error.*.json",
    job_files.LIVE,
    job_files.STARTED,
    job_files.ATTEMPT,
    job_files.WAITING,
    job_files.DOING,
    "staging.*.json",
)
T = TypeVar("T")
S = TypeVar("S", Doing, End, Live)


def read_folder_state(files: Mapping[str, bytes], ahead: Mapping[str, float] | None = None) -> FolderState:
    """Decode the files of a job's folder, with times converted to our clock.

    Args:
        files: name → content; one that can't be decoded (of another version) counts as missing.
        ahead: name → seconds by which the clock of the host that has the file is ahead of ours.
    """
    off = ahead or {}
    errors = [
        replace(error, time=error.time - off.get(name, 0.0))
        for name, data in files.items()
        if name.startswith("error.") and (error := _decode(data, JobError)) is not None
    ]

    def at(name: str, kind: type[S]) -> S | None:
        content = _decode(files.get(name), kind)
        return None if content is None else replace(content, at=content.at - off.get(name, 0.0))

    exits = [
        end for name in files if name.startswith(f"{job_files.EXIT}.") and (end := at(name, End)) is not None
    ]
    started = _number(files.get(job_files.STARTED))
    staging = [
        part
        for name, data in files.items()
        if name.startswith("staging.") and (part := _decode(data, Staging)) is not None
    ]
    return FolderState(
        started_at=None if started is None else started - off.get(job_files.STARTED, 0.0),
        exit=at(job_files.EXIT, End),
        node_exits=tuple(exits),
        errors=tuple(sorted(errors, key=lambda e: e.rank)),
        live=at(job_files.LIVE, Live),
        doing=at(job_files.DOING, Doing),
        attempt=int(_number(files.get(job_files.ATTEMPT)) or 0),
        waiting=_decode(files.get(job_files.WAITING), Reason),
        staging=tuple(staging),
        preempted=job_files.PREEMPTED in files,
        end_command=_end_command(files.get(job_files.END_COMMAND)),
    )


def _end_command(data: bytes | None) -> EndCommandResult | None:
    """How the user's command has ended; its last output may begin within a character."""
    code, _, output = (data or b"").partition(b"\n")
    return EndCommandResult(int(code), output.decode(errors="replace").rstrip()) if code.isdigit() else None


def _decode(data: bytes | None, kind: type[T]) -> T | None:
    if not data:
        return None
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        return None


def _number(data: bytes | None) -> float | None:
    try:
        return float(data.decode()) if data else None
    except ValueError:
        return None
