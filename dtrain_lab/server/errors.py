"""Mapping of errors to HTTP statuses, and of those that are not ours to ours."""

from __future__ import annotations

from dtrain_lab.errors import (
    BadRequest,
    CellFailed,
    Conflict,
    DtrainError,
    EnvironmentUnfit,
    FirstRankFailed,
    Forbidden,
    NotFound,
    PeerFailed,
    SignInNeeded,
    StartFailed,
    Unreachable,
    WireMismatch,
    of_disk,
)
from dtrain_lab.machine import supervision

STATUSES: tuple[tuple[type[DtrainError], int], ...] = (
    (BadRequest, 400),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (EnvironmentUnfit, 409),
    (SignInNeeded, 409),
    (StartFailed, 409),
    (FirstRankFailed, 409),
    (CellFailed, 409),
    (PeerFailed, 409),
    (Unreachable, 502),
    (WireMismatch, 502),
)


def status(error: DtrainError) -> int:
    """Return the HTTP status of an error, by its class."""
    return next((number for kind, number in STATUSES if isinstance(error, kind)), 500)


def as_ours(error: BaseException) -> DtrainError:
    """Return an error as one of ours: that of a disk in words, and a bug with its name."""
    if isinstance(error, DtrainError):
        return error
    return of_disk(error) or DtrainError(
        f"dtrain-lab has failed: {supervision.say(error)}.",
        "This is a bug of dtrain-lab. The log of the Jupyter server has the details.",
        code="bug",
    )
