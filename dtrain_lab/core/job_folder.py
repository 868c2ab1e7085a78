"""What lies in a job's folder, from its files. Pure: whoever reads them hands them over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from dtrain_lab.core import jobfiles
from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.job import Doing, End, Found, JobError, Live, Staging

PATTERNS = (
    jobfiles.EXIT,
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


def found_in(files: Mapping[str, bytes]) -> Found:
    """The files' contents as values; one that can't be read (of another version) counts as none."""
    errors = [
        error
        for name, data in files.items()
        if name.startswith("error.") and (error := _decode(data, JobError)) is not None
    ]
    exits = [
        end
        for name, data in files.items()
        if name.startswith(f"{jobfiles.EXIT}.") and (end := _decode(data, End)) is not None
    ]
    staging = [
        part
        for name, data in files.items()
        if name.startswith("staging.") and (part := _decode(data, Staging)) is not None
    ]
    return Found(
        started_at=_number(files.get(jobfiles.STARTED)),
        exit=_decode(files.get(jobfiles.EXIT), End),
        node_exits=tuple(exits),
        errors=tuple(sorted(errors, key=lambda e: e.rank)),
        live=_decode(files.get(jobfiles.LIVE), Live),
        doing=_decode(files.get(jobfiles.DOING), Doing),
        attempt=int(_number(files.get(jobfiles.ATTEMPT)) or 0),
        waiting=_decode(files.get(jobfiles.WAITING), Reason),
        staging=tuple(staging),
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
