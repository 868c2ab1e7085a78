"""Breakpoints in a rank: on which lines they stop, why one can't, and whether their file is loaded yet."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from dtrain_lab.debugger.places import MISSING, runs_at
from dtrain_lab.debugger.state import Dap

MOVED = "This line is not executed: the breakpoint was moved to one that is."
BELOW = "Nothing is executed on this line or below."
EXCLUDED = "This file belongs to what runs cells: the debugger passes it by."


class Placed:
    """Breakpoints of one file, placed on lines that are executed.

    pydevd accepts breakpoints in files that don't exist, and never stops at them; one on a blank line it
    moves up to the function's definition, one past the end to the last line.

    Args:
        path: the file on this rank's host.
        points: breakpoints in DAP's form.
        name: the path as the editor knows it.
        cell: whether the file is a cell, whose magics only IPython can compile.
        rank: number of this rank.

    Raises:
        FileNotFoundError: the file doesn't exist on this rank's host; the message says so.
    """

    def __init__(self, path: str, points: list[Dap], name: str, *, cell: bool, rank: int) -> None:
        self._points = points
        self._notes = [""] * len(points)
        self._lines: list[int | None] = [point["line"] for point in points]
        self.loaded = cell or loaded(path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:  # can't be parsed: leave the lines unchanged
            return
        except OSError:
            raise FileNotFoundError(
                f"{MISSING} {name} on {socket.gethostname()}, where rank {rank} runs."
            ) from None
        if not cell and path.endswith(".py") and (wrong := _unreadable(text)):
            self._lines = [None] * len(points)
            self._notes = [wrong] * len(points)
            return
        for index, point in enumerate(points):
            line = runs_at(text, point["line"])
            if line is None and not cell:  # below a cell's last line, pydevd takes that one
                self._notes[index] = BELOW
            self._lines[index] = point["line"] if line is None and cell else line

    @property
    def points(self) -> list[Dap]:
        """Breakpoints for pydevd: those that can stop."""
        pairs = zip(self._points, self._lines, strict=True)
        return [{**point, "line": line} for point, line in pairs if line is not None]

    def told(self, answers: list[Dap]) -> list[Dap]:
        """Return all breakpoints in the order in which they were asked for.

        Args:
            answers: pydevd's, for `points`.
        """
        left = iter(answers)
        made = []
        for point, line, note in zip(self._points, self._lines, self._notes, strict=True):
            if line is None:
                made.append({"verified": False, "line": point["line"], "message": note})
                continue
            set_ = next(left, {"verified": False, "line": line})
            if not set_["verified"] and "excluded" in str(set_.get("message")):
                note = EXCLUDED
            elif set_.get("line") != point["line"]:
                note = MOVED
            made.append({**set_, **({"message": note} if note else {}), "loaded": self.loaded})
        return made


def loaded(path: str) -> bool:
    """Whether this process has imported a file, by this name or another one of the same file."""
    real = os.path.realpath(path)
    names = (os.path.basename(path), os.path.basename(real))
    for module in list(sys.modules.values()):
        file = getattr(module, "__dict__", {}).get("__file__")  # not by the attribute, which may be made late
        if not isinstance(file, str):
            continue
        if file == path or (os.path.basename(file) in names and os.path.realpath(file) == real):
            return True
    return False


def _unreadable(text: str) -> str:
    try:
        compile(text, "<breakpoints>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"The file is no valid Python: line {error.lineno}: {error.msg}."
    except ValueError:  # null bytes
        return "The file is no valid Python."
    return ""
