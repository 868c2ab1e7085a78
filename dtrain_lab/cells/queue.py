"""Cell queue: cells on disjoint ranks run at once, cells on overlapping ranks in order of arrival."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace


class Entry(Struct, frozen=True):
    """A queued or running cell (or a view's calls), and the ranks that it needs."""

    cell: str
    ranks: frozenset[int]


class Queue(Struct, frozen=True):
    """The queue: running and waiting cells, in order of arrival."""

    running: tuple[Entry, ...] = ()
    waiting: tuple[Entry, ...] = ()


def add(queue: Queue, entry: Entry) -> tuple[Queue, tuple[Entry, ...]]:
    """Queue a cell.

    Args:
        queue: The queue.
        entry: The cell, with its ranks.

    Returns:
        The new queue, and the cells that begin now.
    """
    return _begin(replace(queue, waiting=(*queue.waiting, entry)))


def end(queue: Queue, cell: str) -> tuple[Queue, tuple[Entry, ...]]:
    """Remove a cell that has ended or was withdrawn.

    Args:
        queue: The queue.
        cell: Id of the cell.

    Returns:
        The new queue, and the cells that begin now.
    """
    return _begin(
        Queue(
            running=tuple(entry for entry in queue.running if entry.cell != cell),
            waiting=tuple(entry for entry in queue.waiting if entry.cell != cell),
        )
    )


def narrow(queue: Queue, cell: str, ranks: frozenset[int]) -> tuple[Queue, tuple[Entry, ...]]:
    """Reduce a running cell to the ranks that it still needs.

    Args:
        queue: The queue.
        cell: Id of the cell.
        ranks: Ranks that it still needs; other cells may use the rest.

    Returns:
        The new queue, and the cells that begin now.
    """
    running = tuple(Entry(cell, ranks) if entry.cell == cell else entry for entry in queue.running)
    return _begin(replace(queue, running=running))


def ahead_of(queue: Queue, cell: str) -> tuple[str, ...]:
    """Return the cells that a waiting cell waits for, in order.

    These are the running cells, and those queued before it, that share a rank with it.

    Args:
        queue: The queue.
        cell: Id of the cell; one that doesn't wait has none before it.
    """
    mine = next((entry for entry in queue.waiting if entry.cell == cell), None)
    if mine is None:
        return ()
    before = queue.waiting[: queue.waiting.index(mine)]
    return tuple(entry.cell for entry in (*queue.running, *before) if not entry.ranks.isdisjoint(mine.ranks))


def _begin(queue: Queue) -> tuple[Queue, tuple[Entry, ...]]:
    taken = frozenset[int]().union(*(entry.ranks for entry in queue.running))
    begun: list[Entry] = []
    waiting: list[Entry] = []
    for entry in queue.waiting:
        if taken.isdisjoint(entry.ranks):
            begun.append(entry)
        else:
            waiting.append(entry)
        # a waiting cell reserves its ranks, so that no later cell overtakes it on them
        taken |= entry.ranks
    return Queue((*queue.running, *begun), tuple(waiting)), tuple(begun)
