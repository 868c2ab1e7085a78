"""Breakpoints in a rank: the lines on which they stop, why one can't, and whether its file is loaded yet."""

from __future__ import annotations

import socket
from pathlib import Path

from dtrain_lab.debugger.pydevd_texts import is_excluded
from dtrain_lab.debugger.sources import CELL, LACKS_FILE, runs_at
from dtrain_lab.debugger.state import Dap
from dtrain_lab.rank.debugger.adapter import Adapter
from dtrain_lab.rank.debugger.awaited_imports import AwaitedImports, loaded
from dtrain_lab.rank.debugger.sources import Refused, Sources

MOVED = "This line is not executed: the breakpoint was moved to one that is."
BELOW = "There is no executable code on this line or below."
EXCLUDED = "This file belongs to the code that runs cells: the debugger skips it."


class PlacedBreakpoints:
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
        except UnicodeDecodeError:  # unparsable source: lines stay unchanged
            return
        except OSError:
            raise FileNotFoundError(
                f"{LACKS_FILE} {name} on {socket.gethostname()}, where rank {rank} runs."
            ) from None
        if not cell and path.endswith(".py") and (wrong := _unreadable(text)):
            self._lines = [None] * len(points)
            self._notes = [wrong] * len(points)
            return
        for index, point in enumerate(points):
            line = runs_at(text, point["line"])
            if line is None and not cell:  # in a cell, pydevd uses the last line instead
                self._notes[index] = BELOW
            self._lines[index] = point["line"] if line is None and cell else line

    @property
    def points(self) -> list[Dap]:
        """Breakpoints for pydevd: those that can stop."""
        pairs = zip(self._points, self._lines, strict=True)
        return [{**point, "line": line} for point, line in pairs if line is not None]

    def in_order(self, answers: list[Dap]) -> list[Dap]:
        """Return all breakpoints in the order in which they were asked for.

        Args:
            answers: pydevd's, for `points`.
        """
        left = iter(answers)
        merged = []
        for point, line, note in zip(self._points, self._lines, self._notes, strict=True):
            if line is None:
                merged.append({"verified": False, "line": point["line"], "message": note})
                continue
            set_ = next(left, {"verified": False, "line": line})
            if not set_["verified"] and is_excluded(set_.get("message")):
                note = EXCLUDED
            elif set_.get("line") != point["line"]:
                note = MOVED
            merged.append({**set_, **({"message": note} if note else {}), "loaded": self.loaded})
        return merged


class Breakpoints:
    """The breakpoints of a rank, file by file.

    Args:
        rank: number of this rank.
        adapter: client of pydevd.
        sources: translates paths of cells.
        imports: tells when a file has been imported.
    """

    def __init__(self, rank: int, adapter: Adapter, sources: Sources, imports: AwaitedImports) -> None:
        self._rank = rank
        self._adapter = adapter
        self._sources = sources
        self._imports = imports
        self.files: set[str] = set()
        """Files with breakpoints, as the client names them."""

    def forget(self) -> None:
        """Forget all breakpoints; pydevd's own list is unchanged."""
        self.files.clear()
        self._imports.clear()

    async def set(self, arguments: Dap) -> Dap:
        """Replace the breakpoints of a file.

        Args:
            arguments: those of `setBreakpoints`; `awaitsImport` is ours: whether the client wants an event
            when the file has been imported.

        Returns:
            The whole response.

        Raises:
            Refused: the file doesn't exist on this rank's host.
        """
        awaits = arguments.get("awaitsImport", False)
        arguments = {key: value for key, value in arguments.items() if key != "awaitsImport"}
        path = arguments["source"]["path"]
        self.files.discard(path)
        there = self._sources.inward(arguments)
        if not arguments.get("breakpoints"):
            self._imports.forget(path)
            return self._sources.outward(await self._adapter.ask("setBreakpoints", there))
        file = there["source"]["path"]
        try:
            placed = PlacedBreakpoints(
                file, arguments["breakpoints"], path, cell=path.startswith(CELL), rank=self._rank
            )
        except FileNotFoundError as error:
            self._imports.forget(path)
            raise Refused(str(error)) from None
        self.files.add(path)
        answer = await self._adapter.ask("setBreakpoints", {**there, "breakpoints": placed.points})
        if answer.get("success"):
            answer["body"] = {"breakpoints": placed.in_order(answer["body"]["breakpoints"])}
        if placed.loaded or not awaits:
            self._imports.forget(path)
        else:
            self._imports.await_file(path, file)
        return self._sources.outward(answer)


def _unreadable(text: str) -> str:
    try:
        compile(text, "<breakpoints>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"The file is not valid Python: line {error.lineno}: {error.msg}."
    except ValueError:  # the source contains null bytes
        return "The file is not valid Python."
    return ""
