"""The traceback of an error that ends a job's rank, with those of its causes and its group."""

from __future__ import annotations

import os
import traceback
from collections.abc import Collection
from pathlib import Path

OURS = f"{Path(__file__).parents[2]}{os.sep}"
"""Our own folder: tracebacks leave out the monitor's frames, which stand between the user's and torch's."""


def text(error: BaseException, cells: Collection[str]) -> str:
    """Return the traceback from the first cell on; a syntax error is its own place.

    Args:
        error: What ended the rank.
        cells: File names of the notebook's cells.
    """
    summary = traceback.TracebackException.from_exception(error)
    _shorten(summary, cells)
    if isinstance(error, SyntaxError):
        summary.stack = None  # type: ignore[assignment] # of an exception without a traceback
    return "".join(summary.format())


def _shorten(summary: traceback.TracebackException, cells: Collection[str]) -> None:
    """Leave out what stands above the first cell, and our own frames, also of causes and of a group."""
    frames = list(summary.stack)
    first = next((i for i, frame in enumerate(frames) if frame.filename in cells), 0)
    shown = [f for f in frames[first:] if f.filename in cells or not f.filename.startswith(OURS)]
    summary.stack = traceback.StackSummary.from_list(shown)
    for other in (summary.__cause__, summary.__context__, *(summary.exceptions or ())):
        if other is not None:
            _shorten(other, cells)
