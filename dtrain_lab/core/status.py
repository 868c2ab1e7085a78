"""Does something that was started run?"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from dtrain_lab.core.cluster import Reason


class Status(Struct, frozen=True):
    """`reason`: why it waits, or how it ended, as far as the back-end knows."""

    fate: Literal["pending", "running", "ended"]
    reason: Reason | None = None
