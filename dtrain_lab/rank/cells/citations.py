"""Cites code of cells by label and line, where Python would name a generated file."""

from __future__ import annotations

import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

OURS = str(Path(__file__).parents[2]) + "/"

Locate = Callable[[str, int], tuple[str | None, int]]
"""Maps file and line of compiled code to the cell's label (None outside cells) and the user's line."""


def in_warnings(locate: Locate) -> None:
    """Cite cells in warnings, logged ones included: `cell [10], line 6: UserWarning: …`.

    A warning that would cite our wrapper of a function cites the function's caller.
    """
    usual = warnings.formatwarning

    def formatwarning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if filename.startswith(OURS):
            filename, lineno = _caller(sys._getframe(1), filename, lineno)
        text = usual(message, category, filename, lineno, line)
        label, number = locate(filename, lineno)
        mark = f"{filename}:{lineno}: "
        if label is None or not text.startswith(mark):
            return text
        return f"cell {label}, line {number}: {text.removeprefix(mark)}"

    warnings.formatwarning = formatwarning


def _caller(frame: FrameType | None, file: str, line: int) -> tuple[str, int]:
    """File and line of what has called our wrapper; the wrapper's own if it isn't on the stack."""
    inside = False
    while frame is not None:
        name = frame.f_code.co_filename
        inside = inside or (name, frame.f_lineno) == (file, line)
        if inside and not name.startswith(OURS):
            return name, frame.f_lineno
        frame = frame.f_back
    return file, line


def in_tracebacks(locate: Locate) -> None:
    """Cite cells in exceptions printed by `traceback`, `logging` and threads."""
    usual: Any = traceback.StackSummary.format_frame_summary

    def format_frame_summary(self: traceback.StackSummary, summary: Any, **more: Any) -> str:
        text: str = usual(self, summary, **more)
        label, number = locate(summary.filename, summary.lineno or 0)
        mark = f'File "{summary.filename}", line {summary.lineno}'
        return text if label is None else text.replace(mark, f"cell {label}, line {number}", 1)

    setattr(traceback.StackSummary, "format_frame_summary", format_frame_summary)  # noqa: B010 - mypy

    def thread_failed(args: threading.ExceptHookArgs) -> None:
        # the interpreter's own hook doesn't use `traceback`, and would print file names
        if args.exc_type is SystemExit or args.exc_value is None:
            return
        name = args.thread.name if args.thread is not None else threading.get_ident()
        print(f"Exception in thread {name}:", file=sys.stderr)
        traceback.print_exception(args.exc_value)

    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = thread_failed


def in_shell(shell: Any, locate: Locate) -> None:
    """Cite cells where IPython shows an exception that a library has caught.

    Args:
        shell: IPython's shell.
        locate: Maps a file and line of compiled code to the cell.
    """
    usual = shell.compile.format_code_name

    def format_code_name(name: str) -> tuple[str, str] | None:
        label, _ = locate(name, 0)
        formatted: tuple[str, str] | None = ("cell", label) if label is not None else usual(name)
        return formatted

    shell.compile.format_code_name = format_code_name
