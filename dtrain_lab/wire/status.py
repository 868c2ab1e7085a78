"""Status of a submitted world, as its back-end reports it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from dtrain_lab.wire.cluster import Reason


class Status(Struct, frozen=True):
    """Status of a world. If it can't be queried, its fate is unknown, never ended.

    `reason`: why it waits, how it ended, or why it can't be queried, as far as the back-end knows.
    """

    fate: Literal["pending", "running", "ended", "unknown"]
    reason: Reason | None = None
