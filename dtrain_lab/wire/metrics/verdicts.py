"""Judgements from metrics: problems with the ranks at fault, and advice on what would be faster."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.wire.kinds import VerdictKind
from dtrain_lab.wire.metrics.diagnosis import Tried
from dtrain_lab.wire.stacks import Where


class HangPosition(Struct, frozen=True):
    """Ranks at the same position in a hang: in the same collective, or outside any.

    `blamed`: whether the other ranks wait for them.
    """

    ranks: tuple[int, ...]
    blamed: bool
    operation: str | None = None
    sequence: int | None = None
    bytes: int | None = None
    where: Where | None = None


class Verdict(Struct, frozen=True):
    """A detected problem: the ranks at fault, the peers that wait for them, and where.

    `id` identifies the episode: it stays the same while the problem lasts. `standings`: where each of `ranks`
    and `peers` is, those at fault first.
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
