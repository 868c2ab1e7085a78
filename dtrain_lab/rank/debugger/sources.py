"""Cells and files of a rank, as a debugger's client names them and as pydevd does."""

from __future__ import annotations

import linecache
import os
from pathlib import Path
from typing import Protocol

from dtrain_lab.debugger.sources import CELL
from dtrain_lab.debugger.state import Dap
from dtrain_lab.machine import atomic_files
from dtrain_lab.rank.group import main_thread
from dtrain_lab.wire.stacks import Frame


class Refused(Exception):
    """A request that can't be served; the message is shown to the user."""


class CellFiles(Protocol):
    """Maps files of compiled code to cells, and back."""

    def locate(self, file: str, line: int) -> tuple[str | None, int]:
        """Map a line of compiled code to a cell.

        Args:
            file: File name of the compiled code.
            line: Line in it, from 1.

        Returns:
            The cell's label and the user's line; None and the same line if the file is not a cell.
        """

    def name(self, file: str) -> str | None:
        """The debugger's name for a cell's file; None if the file is not a cell."""

    def file(self, name: str) -> str | None:
        """Path on disk of a cell, given the debugger's name or the label; None for an unknown name."""

    def compiled(self, path: str) -> str:
        """File name that a cell's compiled code has, given the path of its file."""

    def texts(self) -> dict[str, str]:
        """Text, by name, of the cells that are known before they run."""

    def text(self, name: str) -> str | None:
        """A cell's text with the user's line numbers, by the debugger's name; None for an unknown name."""


class Sources:
    """Translates between cells and the files that they are compiled from.

    Args:
        rank: number of this rank.
        cells: maps files of compiled code to cells.
    """

    def __init__(self, rank: int, cells: CellFiles) -> None:
        self._rank = rank
        self._cells = cells

    def write(self) -> None:
        """Write the cells that are known before they run."""
        for name, text in self._cells.texts().items():
            self.dump(name, text)

    def dump(self, name: str, code: str) -> Dap:
        """Write a cell's text to a file: pydevd accepts breakpoints in files only.

        Args:
            name: The debugger's name for the cell.
            code: The cell's text.

        Returns:
            The body of DAP's answer.
        """
        path = Path(self._cells.file(name) or "")
        path.parent.mkdir(mode=0o700, exist_ok=True)
        atomic_files.swap(path, code.encode())
        return {"success": True}

    def text(self, path: str) -> str:
        """Text of a cell or file, for an editor that lacks it.

        Args:
            path: path of a file, or name of a cell as on the wire.

        Raises:
            Refused: the rank has run no such cell yet.
        """
        if not path.startswith(CELL):
            return Path(path).read_text(encoding="utf-8")
        text = self._cells.text(path.removeprefix(CELL))
        if text is None:
            raise Refused(f"Rank {self._rank} has run no cell {path.removeprefix(CELL)} yet.")
        return text

    def inward(self, arguments: Dap) -> Dap:
        """Return a request's arguments with the path that pydevd knows the source by.

        Raises:
            Refused: the source is a cell that this rank has not run.
        """
        source = arguments.get("source")
        if not source or not str(source.get("path", "")).startswith(CELL):
            return arguments
        name = source["path"].removeprefix(CELL)
        path = self._cells.file(name)
        if path is None:
            raise Refused(f"Rank {self._rank} has run no cell {name} yet.")
        if not os.path.exists(path):
            self.dump(name, "".join(linecache.getlines(self._cells.compiled(path))))
        return {**arguments, "source": {**source, "path": path}}

    def outward(self, answer: Dap) -> Dap:
        """Name the cells in pydevd's answer as the client does."""
        body = answer.get("body") or {}
        for item in (*body.get("stackFrames", ()), *body.get("breakpoints", ())):
            source = item.get("source")
            if source and source.get("path"):
                label, _ = self._cells.locate(source["path"], 0)
                name = self._cells.name(source["path"])
                item["source"] = {
                    **source,
                    **({"name": f"cell {label}", "path": f"{CELL}{name}"} if name else {}),
                }
        return answer

    def named(self, file: str) -> str:
        """Name a file of compiled code as the client does: a cell by its name."""
        name = self._cells.name(file)
        return f"{CELL}{name}" if name else file

    def frame(self, place: Dap) -> Frame:
        """Return the place of a stop as a frame of a stack, which names its cell.

        Args:
            place: File, line and function of the stop, the file as the client names it.
        """
        file, line, cell = str(place["file"]), int(place["line"]), None
        if file.startswith(CELL):
            cell, _ = self._cells.locate(self._cells.file(file.removeprefix(CELL)) or "", line)
        return Frame(f"cell {cell}" if cell else file, line, str(place["function"]), cell=cell)

    def line_name(self, file: str, line: int) -> str:
        """Name a line for the user: "line 3 of cell [7]", "train.py:3".

        Args:
            file: File name of the compiled code.
            line: Line as the user counts, from 1.
        """
        label, _ = self._cells.locate(file, line)
        return f"line {line} of cell {label}" if label else f"{os.path.basename(file)}:{line}"

    def where(self, thread: int) -> Dap:
        """Return what a thread does now.

        Args:
            thread: its `ident`.
        """
        frames = main_thread.frames_of(thread)
        stack: list[Dap] = []
        for frame in frames:
            code = frame.f_code
            label, line = self._cells.locate(code.co_filename, frame.f_lineno)
            file = self.named(code.co_filename)
            stack.append({"file": file, "line": line, "function": code.co_name, "cell": label})
        first = next((i for i, f in enumerate(stack) if f["cell"]), None)
        mine = stack[first:] if first is not None else []
        place = next((f for f in reversed(mine) if f["cell"]), None)
        return {
            "place": place,
            "frames": mine[-20:],
            "operation": main_thread.operation(frames) if mine else None,
            "sequences": main_thread.sequences(),
        }
