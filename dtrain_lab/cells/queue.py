"""Cell queue: cells on disjoint ranks run at once, cells on overlapping ranks in order of arrival."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace


class Turn(Struct, frozen=True):
    """A queued or running cell, and the ranks that it needs."""

    cell: str
    ranks: frozenset[int]


class Turns(Struct, frozen=True):
    """The queue: running and waiting cells, in order of arrival."""

    running: tuple[Turn, ...] = ()
    waiting: tuple[Turn, ...] = ()


def add(turns: Turns, turn: Turn) -> tuple[Turns, tuple[Turn, ...]]:
    """Queue a cell.

    Args:
        turns: The queue.
        turn: The cell, with its ranks.

    Returns:
        The new queue, and the turns that begin now.
    """
    return _begin(replace(turns, waiting=(*turns.waiting, turn)))


def end(turns: Turns, cell: str) -> tuple[Turns, tuple[Turn, ...]]:
    """Remove a cell that has ended or was withdrawn.

    Args:
        turns: The queue.
        cell: Id of the cell.

    Returns:
        The new queue, and the turns that begin now.
    """
    return _begin(
        Turns(
            running=tuple(t for t in turns.running if t.cell != cell),
            waiting=tuple(t for t in turns.waiting if t.cell != cell),
        )
    )


def keep(turns: Turns, cell: str, ranks: frozenset[int]) -> tuple[Turns, tuple[Turn, ...]]:
    """Reduce a running cell to the ranks that it still needs.

    Args:
        turns: The queue.
        cell: Id of the cell.
        ranks: Ranks that it still needs; other cells may use the rest.

    Returns:
        The new queue, and the turns that begin now.
    """
    running = tuple(Turn(cell, ranks) if t.cell == cell else t for t in turns.running)
    return _begin(replace(turns, running=running))


def ahead_of(turns: Turns, cell: str) -> tuple[str, ...]:
    """Return the cells that a waiting cell waits for, in order.

    These are the running cells, and those queued before it, that share a rank with it.

    Args:
        turns: The queue.
        cell: Id of the cell; one that doesn't wait has none before it.
    """
    mine = next((t for t in turns.waiting if t.cell == cell), None)
    if mine is None:
        return ()
    before = turns.waiting[: turns.waiting.index(mine)]
    return tuple(t.cell for t in (*turns.running, *before) if not t.ranks.isdisjoint(mine.ranks))


def _begin(turns: Turns) -> tuple[Turns, tuple[Turn, ...]]:
    taken = frozenset[int]().union(*(t.ranks for t in turns.running))
    begun: list[Turn] = []
    waiting: list[Turn] = []
    for turn in turns.waiting:
        if taken.isdisjoint(turn.ranks):
            begun.append(turn)
        else:
            waiting.append(turn)
        # a waiting cell reserves its ranks, so that no later cell overtakes it on them
        taken |= turn.ranks
    return Turns((*turns.running, *begun), tuple(waiting)), tuple(begun)
