"""Remaining quota of a user: disk space, files, hours of a scheduler account."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Unit = Literal["GPU", "CPU"]


class Budget(Struct, frozen=True):
    """GPU or CPU hours: those that the job may use, and those that are left.

    `holder`: owner of the budget, in words ("the account proj").
    """

    unit: Unit
    left_hours: float
    limit_hours: float
    holder: str
    asked_hours: float | None = None


class FreeSpace(Struct, frozen=True):
    """How much can still be written to a folder, in bytes and files; None if unknown."""

    folder: str
    free_bytes: int | None = None
    quota_bytes: int | None = None
    quota_files: int | None = None
