"""The error or interrupt that ended a rank's last cell, kept for post-mortem debugging."""

from __future__ import annotations

from collections.abc import Iterable

from dtrain_lab.cells.errors import lost_connection

AT_FAILURE = {"uncaught", "userUnhandled"}
"""Filters that we serve ourselves: pydevd's own trace every call, which is many times slower."""
CELL = "--cell "
"""Argument of `%debug` with the head's id of a cell: only its error is wanted, and no later one."""


class LastFailure:
    """Keeps the error of the last cell; earlier ones are forgotten."""

    def __init__(self) -> None:
        self._error: BaseException | None = None
        self._of = ""
        """Id of the cell that it ended."""
        self._running = ""
        self._looking = False
        """Whether the running cell only looks at the error."""
        self._stops = False
        """Whether the user wants ranks to stop where a cell fails."""

    def filter(self, filters: Iterable[str]) -> list[str]:
        """Take over the user's filters of exceptions; returns those that pydevd serves."""
        wanted = set(filters)
        self._stops = bool(wanted & AT_FAILURE)
        return sorted(wanted - AT_FAILURE)

    def stops(self, error: BaseException) -> bool:
        """Whether to stop where a cell failed: not at a lost connection, as another rank's failure causes."""
        return self._stops and not isinstance(error, KeyboardInterrupt) and not lost_connection(str(error))

    def cell_began(self, cell: str) -> None:
        """Called before a cell."""
        self._running = cell

    def cell_ended(self, error: BaseException | None) -> None:
        """Called at a cell's end: keep its error, unless it was a look at the last one's."""
        looked, self._looking = self._looking, False
        if not looked or (error is not None and not isinstance(error, KeyboardInterrupt)):
            self._error, self._of = error, self._running

    def look(self, line: str) -> BaseException | None:
        """Return the error to stop at; None if only another cell's is here.

        Args:
            line: Arguments of `%debug`.

        Raises:
            RuntimeError: The last cell has not failed here, and no certain one is wanted.
        """
        wanted = line.strip()
        wanted = wanted.removeprefix(CELL).strip() if wanted.startswith(CELL) else ""
        if self._error is None and not wanted:
            raise RuntimeError("The last cell has not failed on this rank.")
        self._looking = True
        return self._error if wanted in ("", self._of) else None
