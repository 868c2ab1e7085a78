"""What cells of a job show: as text in the rank's output, and as displays in the executed notebook."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from dtrain_lab.rank.output.executed_notebook import ExecutedNotebook, Tee


def plain(stream: Any) -> TextIO:
    """Return the stream that a `Tee` copies: text written to it does not go to the executed notebook."""
    original: TextIO = stream._stream if isinstance(stream, Tee) else stream
    return original


class Display:
    """Shows values of cells.

    Args:
        executed: the executed notebook; None on ranks that don't write it.
    """

    def __init__(self, executed: ExecutedNotebook | None) -> None:
        self._executed = executed
        self._formatter: Any = None

    def display(self, *values: Any, **_: Any) -> None:
        """Show values as a notebook's `display` does."""
        for value in values:
            self.show(value)

    def show(self, value: Any, result: int | None = None) -> None:
        """Show one value.

        Args:
            value: anything.
            result: number of the cell whose last expression it is; None for a call of `display`.
        """
        data, metadata = self._formats(value)
        print(data.get("text/plain", repr(value)), file=plain(sys.stdout), flush=True)
        if self._executed is not None:
            self._executed.show(data, metadata, result)

    def figures(self) -> None:
        """Show matplotlib's figures that a cell has left open, as the inline back-end does."""
        if "matplotlib.pyplot" in sys.modules:
            from dtrain_lab.rank.output import job_figures

            job_figures.set_display(self._figure)
            job_figures.show()

    def _formats(self, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._formatter is None:
            try:
                from IPython.core.formatters import DisplayFormatter
            except ImportError:  # an environment of another framework
                return {"text/plain": repr(value)}, {}
            self._formatter = DisplayFormatter()
        data, metadata = self._formatter.format(value)
        return dict(data), dict(metadata)

    def _figure(self, png: bytes) -> None:
        print("<Figure>", file=plain(sys.stdout))
        if self._executed is not None:
            self._executed.show({"image/png": png, "text/plain": "<Figure>"}, {})
