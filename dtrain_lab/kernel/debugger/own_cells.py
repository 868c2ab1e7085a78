"""Whether the kernel runs a cell, of ranks or its own."""

from __future__ import annotations

from typing import Any


class OwnCells:
    """Follows the cells of a kernel.

    Args:
        shell: The kernel's IPython shell.
    """

    def __init__(self, shell: Any) -> None:
        self._events = shell.events
        self._running = 0  # a cell can run others
        self._events.register("pre_execute", self._began)
        self._events.register("post_execute", self._ended)

    @property
    def running(self) -> bool:
        """Whether a cell runs."""
        return self._running > 0

    def forget(self) -> None:
        """Follow the cells no longer."""
        self._events.unregister("pre_execute", self._began)
        self._events.unregister("post_execute", self._ended)

    def _began(self) -> None:
        self._running += 1

    def _ended(self) -> None:
        # the cell that loads the extension began before
        self._running = max(0, self._running - 1)
