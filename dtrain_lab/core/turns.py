"""Turns: cells on disjoint ranks run at once, cells on overlapping ranks in the order they came."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace


class Turn(Struct, frozen=True):
    """A cell and the ranks that it needs."""

    cell: str
    ranks: frozenset[int]


class Turns(Struct, frozen=True):
    """Who runs and who waits, in order."""

    running: tuple[Turn, ...] = ()
    waiting: tuple[Turn, ...] = ()


def add(turns: Turns, turn: Turn) -> tuple[Turns, tuple[Turn, ...]]:
    """Queue a cell; returns the turns that begin now."""
    return _begin(replace(turns, waiting=(*turns.waiting, turn)))


def end(turns: Turns, cell: str) -> tuple[Turns, tuple[Turn, ...]]:
    """A cell has ended or was withdrawn; returns the turns that begin now."""
    return _begin(
        Turns(
            running=tuple(t for t in turns.running if t.cell != cell),
            waiting=tuple(t for t in turns.waiting if t.cell != cell),
        )
    )


def keep(turns: Turns, cell: str, ranks: frozenset[int]) -> tuple[Turns, tuple[Turn, ...]]:
    """A cell that runs needs no more than these of its ranks; returns the turns that begin now."""
    running = tuple(Turn(cell, ranks) if t.cell == cell else t for t in turns.running)
    return _begin(replace(turns, running=running))


def _begin(turns: Turns) -> tuple[Turns, tuple[Turn, ...]]:
    taken = frozenset[int]().union(*(t.ranks for t in turns.running))
    begun: list[Turn] = []
    waiting: list[Turn] = []
    for turn in turns.waiting:
        if taken.isdisjoint(turn.ranks):
            begun.append(turn)
        else:
            waiting.append(turn)
        # a cell that waits keeps its ranks for itself: a later one never overtakes it there
        taken |= turn.ranks
    return Turns((*turns.running, *begun), tuple(waiting)), tuple(begun)
