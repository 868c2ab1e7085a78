"""The cell queue of a world: cells and views' calls begin in order, once the world lets them."""

from __future__ import annotations

from collections.abc import Callable

from dtrain_lab.cells import queue as pure


class CellQueue:
    """Queue of cells and views' calls.

    Args:
        can_begin: Whether the world lets a cell on these ranks begin now.
    """

    def __init__(self, can_begin: Callable[[frozenset[int]], bool]) -> None:
        self._can_begin = can_begin
        self._queue = pure.Queue()
        self._pending: list[pure.Entry] = []
        """Entries whose ranks are free, not yet started because the world does not let them."""
        self._begin: dict[str, Callable[[], None]] = {}

    def add(self, name: str, ranks: tuple[int, ...], begin: Callable[[], None]) -> None:
        """Queue a cell.

        Args:
            name: Id of the cell.
            ranks: Ranks that it needs.
            begin: Called once the ranks are reserved for it; perhaps at once.
        """
        self._begin[name] = begin
        self._queue, begun = pure.add(self._queue, pure.Entry(name, frozenset(ranks)))
        self._pending = [*self._pending, *begun]
        self.go_on()

    def go_on(self) -> None:
        """Start the pending cells that the world lets begin."""
        pending, self._pending = self._pending, []
        for entry in pending:
            if not self._can_begin(entry.ranks):
                self._pending.append(entry)
            elif begin := self._begin.get(entry.cell):  # None if the cell was withdrawn
                begin()

    def narrow(self, name: str, ranks: set[int]) -> None:
        """Reduce a cell to the ranks that it still needs; `go_on` starts those that this lets begin.

        Args:
            name: Id of the cell.
            ranks: Ranks that it still needs; the others are free for other cells.
        """
        self._queue, begun = pure.narrow(self._queue, name, frozenset(ranks))
        self._pending = [*self._pending, *begun]

    def end(self, name: str) -> None:
        """Remove a cell that has ended or was withdrawn; `go_on` starts those that this lets begin."""
        self._begin.pop(name, None)
        self._queue, begun = pure.end(self._queue, name)
        self._pending = [*self._pending, *begun]

    def ahead_of(self, name: str) -> tuple[str, ...]:
        """The cells that a waiting one waits for, in order."""
        return pure.ahead_of(self._queue, name)

    @property
    def begun(self) -> list[str]:
        """Ids of the cells that have started and not ended."""
        waiting = {entry.cell for entry in self._pending}
        return [entry.cell for entry in self._queue.running if entry.cell not in waiting]
