"""Turns of a world's ranks: cells and views' calls begin in order, once the world lets them."""

from __future__ import annotations

from collections.abc import Callable

from dtrain_lab.cells import queue as pure


class TurnQueue:
    """Queue of turns by name.

    Args:
        can_begin: Whether the world lets a turn on these ranks begin now.
    """

    def __init__(self, can_begin: Callable[[frozenset[int]], bool]) -> None:
        self._can_begin = can_begin
        self._turns = pure.Turns()
        self._pending: list[pure.Turn] = []
        """Turns whose ranks are free, not yet started because the world does not let them."""
        self._begin: dict[str, Callable[[], None]] = {}

    def add(self, name: str, ranks: tuple[int, ...], begin: Callable[[], None]) -> None:
        """Queue a turn.

        Args:
            name: Name of the turn.
            ranks: Ranks that it needs.
            begin: Called once the ranks are reserved for it; perhaps at once.
        """
        self._begin[name] = begin
        self._turns, begun = pure.add(self._turns, pure.Turn(name, frozenset(ranks)))
        self._pending = [*self._pending, *begun]
        self.go_on()

    def go_on(self) -> None:
        """Start the pending turns that the world lets begin."""
        pending, self._pending = self._pending, []
        for turn in pending:
            if not self._can_begin(turn.ranks):
                self._pending.append(turn)
            elif begin := self._begin.get(turn.cell):  # None if the cell was withdrawn
                begin()

    def keep(self, name: str, ranks: set[int]) -> None:
        """Reduce a turn to the ranks that it still needs; `go_on` starts those that this lets begin.

        Args:
            name: Id of the turn's cell.
            ranks: Ranks that it still needs; the others are free for other turns.
        """
        self._turns, begun = pure.keep(self._turns, name, frozenset(ranks))
        self._pending = [*self._pending, *begun]

    def end(self, name: str) -> None:
        """Remove a turn that has ended or was withdrawn; `go_on` starts those that this lets begin."""
        self._begin.pop(name, None)
        self._turns, begun = pure.end(self._turns, name)
        self._pending = [*self._pending, *begun]

    def ahead_of(self, name: str) -> tuple[str, ...]:
        """The turns that a waiting one waits for, in order."""
        return pure.ahead_of(self._turns, name)

    @property
    def begun(self) -> list[str]:
        """Names of the turns that have started and not ended."""
        waiting = {turn.cell for turn in self._pending}
        return [turn.cell for turn in self._turns.running if turn.cell not in waiting]
