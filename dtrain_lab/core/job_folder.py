"""What lies in a job's folder, from its files. Pure: whoever reads them hands them over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from dtrain_lab.core import jobfiles
from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.job import Doing, End, Found, JobError, Live, Staging

PATTERNS = (
    jobfiles.EXIT,
    jobfiles.PREEMPTED,
    f"{jobfiles.EXIT}.*",
    "error.*.json",
    jobfiles.LIVE,
    jobfiles.STARTED,
    jobfiles.ATTEMPT,
    jobfiles.WAITING,
    jobfiles.DOING,
    "staging.*.json",
)
T = TypeVar("T")
S = TypeVar("S", Doing, End, Live)


def found_in(files: Mapping[str, bytes], ahead: Mapping[str, float] | None = None) -> Found:
    """The files' contents as values, their times by our clock.

    Args:
        files: name → content; one that can't be read (of another version) counts as none.
        ahead: name → seconds by which the clock of the host that has it is ahead of ours.
    """
    off = ahead or {}
    errors = [
        replace(error, time=error.time - off.get(name, 0.0))
        for name, data in files.items()
        if name.startswith("error.") and (error := _decode(data, JobError)) is not None
    ]

    def at(name: str, kind: type[S]) -> S | None:
        found = _decode(files.get(name), kind)
        return None if found is None else replace(found, at=found.at - off.get(name, 0.0))

    exits = [
        end for name in files if name.startswith(f"{jobfiles.EXIT}.") and (end := at(name, End)) is not None
    ]
    started = _number(files.get(jobfiles.STARTED))
    staging = [
        part
        for name, data in files.items()
        if name.startswith("staging.") and (part := _decode(data, Staging)) is not None
    ]
    return Found(
        started_at=None if started is None else started - off.get(jobfiles.STARTED, 0.0),
        exit=at(jobfiles.EXIT, End),
        node_exits=tuple(exits),
        errors=tuple(sorted(errors, key=lambda e: e.rank)),
        live=at(jobfiles.LIVE, Live),
        doing=at(jobfiles.DOING, Doing),
        attempt=int(_number(files.get(jobfiles.ATTEMPT)) or 0),
        waiting=_decode(files.get(jobfiles.WAITING), Reason),
        staging=tuple(staging),
        preempted=jobfiles.PREEMPTED in files,
    )


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
