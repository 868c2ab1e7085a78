"""Judgements from metrics: problems with the ranks at fault, and advice on what would be faster."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

from dtrain_lab.wire.kinds import VerdictKind
from dtrain_lab.wire.metrics.diagnosis import Tried
from dtrain_lab.wire.stacks import Where

ALARMS: frozenset[str] = frozenset({"stuck", "mismatch"})
"""Kinds of verdict on ranks that don't continue by themselves."""
COMPUTING = "computing"
"""Code of the verdict on ranks that compute while others wait: an alarm, although they aren't stuck."""
TOO_BUSY = "too_busy"
"""Code of the verdict on a machine whose threads wait for cores: metrics are uncertain."""


class HangPosition(Struct, frozen=True):
    """Ranks at the same position in a hang: in the same collective, or outside any.

    `blamed`: whether the other ranks wait for them. `left`: they called the collective, where the ranks
    disagree, and have left it since.
    """

    ranks: tuple[int, ...]
    blamed: bool
    operation: str | None = None
    sequence: int | None = None
    bytes: int | None = None
    where: Where | None = None
    left: bool = False


class Verdict(Struct, frozen=True):
    """A detected problem: the ranks at fault, the peers that wait for them, and where.

    `id` identifies the episode: it stays the same while the problem lasts. `standings`: where each of `ranks`
    and `peers` is, those at fault first.
    `alarm`: the ranks don't continue by themselves. `headline`: it becomes the world's sentence; otherwise it
    is a note below. Both follow from the kind and the code, also in what an earlier head sends.
    """

    id: str
    kind: VerdictKind
    code: str
    values: dict[str, Any]
    text: str
    ranks: tuple[int, ...] = ()
    peers: tuple[int, ...] = ()
    operation: str | None = None
    sequence: int | None = None
    bytes: int | None = None
    where: Where | None = None
    since_s: float | None = None
    hint: str = ""
    actions: tuple[str, ...] = ()
    standings: tuple[HangPosition, ...] = ()
    alarm: bool = False
    headline: bool = True

    def __post_init__(self) -> None:
        """Derive what follows from the kind and the code; also called for what is decoded."""
        force_setattr(self, "alarm", self.alarm or self.kind in ALARMS)
        force_setattr(self, "headline", self.headline and self.code != TOO_BUSY)


class Advice(Struct, frozen=True):
    """A change that would make training faster, with its cost.

    `gain`: predicted throughput relative to the current one (1.6 is 60 % more), give or take `gain_error`.
    `change` and `cost` are in English; `id` and `values` are for translation. `tried`: what it gained when it
    was tried; None before. `tryable`: whether ranks can try it by themselves.
    """

    id: str
    change: str
    gain: float
    gain_error: float
    cost: str
    diff: str
    values: dict[str, Any] = {}
    tried: Tried | None = None
    tryable: bool = False
