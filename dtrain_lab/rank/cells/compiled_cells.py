"""Which cell, and which of its lines, compiled code of a rank comes from; the frames of its tracebacks."""

from __future__ import annotations

import linecache
import os
import traceback
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from dtrain_lab.cells.errors import is_library, is_pydevd
from dtrain_lab.cells.left_frames import shortened
from dtrain_lab.cells.output_buffer import Names
from dtrain_lab.cells.syntax import blank_lines
from dtrain_lab.wire.links import Execute
from dtrain_lab.wire.stacks import Frame

CONTEXT = 2
"""Lines of source shown above the one that raised."""
TIMED = ("<timed exec>", "<timed eval>")


class CompiledCells:
    """The cells that a rank has compiled, by file name of their code.

    Args:
        shell: the kernel's shell; asks here how the code that it compiles is named.
        names: shared with the node agent, so that it can name cells in the stack of a crashed rank.
        folder: where the debugger writes the files of cells.
    """

    def __init__(self, shell: Any, names: Names, folder: str) -> None:
        self._shell = shell
        self._names = names
        self._folder = folder
        self._usual_name = shell.compile.get_code_name
        shell.compile.get_code_name = self._code_name
        self._cells: dict[str, tuple[str, int]] = {}
        """Label of the cell and lines to add, by file name of compiled code."""
        self._runs: dict[str, str] = {}
        """The world's own id of the cell, by file name: two notebooks may both have a [3]."""
        self._inner: dict[str, tuple[str, int]] = {}
        """As `_cells`, for code that a magic of a cell has run, like `%%capture`."""
        self._written: dict[str, list[str]] = {}
        """The cell's lines as the user wrote them, by file name of compiled code."""
        self._order: Execute | None = None
        self._file = ""
        """File name that the debugger gives to the running cell; empty if it gives none."""

    def begin(self, order: Execute, transformed: str) -> str:
        """Note the cell that is about to be compiled.

        Args:
            order: the cell.
            transformed: its code as the shell's input transformers leave it.

        Returns:
            The code with the user's line numbers, which breakpoints refer to.
        """
        self._order = order
        self._file = f"{self._folder}/{order.source}" if order.source else ""
        name = self._shell.compile.get_code_name(order.code, transformed, self._shell.execution_count)
        self._cells[name] = (order.label, 0)
        self._runs[name] = order.cell
        self._written[name] = self._lines(order)
        self._names.add(name, order.label, 0)
        return "\n" * (order.first_line - 1 + blank_lines(order.code)) + transformed

    def end(self) -> None:
        """Note that the cell has ended."""
        self._file = ""

    def files(self) -> tuple[str, ...]:
        """File names of all compiled code of cells."""
        return (*self._inner, *self._cells)

    def locate(self, file: str, line: int) -> tuple[str | None, int]:
        """Cell label and user's line for a line of compiled code; None and the line outside cells."""
        cell = self._cells.get(file) or self._inner.get(file)
        return (cell[0], line + cell[1]) if cell else (None, line)

    def name(self, file: str) -> str | None:
        """The debugger's name for a cell's file; None if the file is not a cell."""
        return os.path.basename(file) if file in self._cells else None

    def file(self, name: str) -> str | None:
        """Path of a cell's file, given the debugger's name or the label; None for an unknown label."""
        if not name.startswith("["):
            return f"{self._folder}/{name}"
        files = [file for file, (label, _) in self._cells.items() if label == name]
        return files[-1] if files else None

    def compiled(self, path: str) -> str:
        """File name that a cell's compiled code has: in a cluster the path itself."""
        return path

    def texts(self) -> dict[str, str]:
        """Empty: no cell is known before it runs; the notebook's debugger sends the texts."""
        return {}

    def text(self, name: str) -> str | None:
        """A cell's text with the user's line numbers, by the debugger's name; None for an unknown name."""
        written = self._written.get(self.file(name) or "")
        return "\n".join(written) if written is not None else None

    def frames(self, tb: TracebackType | None) -> tuple[Frame, ...]:
        """Frames of a traceback from the cell inwards, without IPython's own; of very many, not all."""
        summary = traceback.extract_tb(tb)
        first = next((i for i, f in enumerate(summary) if self.locate(f.filename, 0)[0] is not None), 0)
        kept: list[Frame] = []
        magic: Frame | None = None
        for entry in summary[first:]:
            if is_pydevd(entry.filename):  # interrupted while pydevd checked for a breakpoint
                continue
            frame = self.frame(entry)
            magic = frame if frame.cell else magic
            if entry.filename in TIMED and magic is not None:
                frame = self._timed(frame, magic)
            kept.append(frame)
        return shortened(kept)

    def _timed(self, frame: Frame, magic: Frame) -> Frame:
        """Map a frame of a `%time` magic, which compiles code under its own file name, to the cell's line.

        Args:
            frame: in the code that the magic ran.
            magic: of the cell's line with the magic.
        """
        order = self._order
        written = self._lines(order) if order is not None else []
        line = magic.line
        if magic.source.startswith("%%"):
            line += frame.line + blank_lines("\n".join(written[magic.line :]))
        source = written[line - 1] if line <= len(written) else ""
        return Frame(magic.file, line, frame.function, source.rstrip(), magic.cell)

    @staticmethod
    def _lines(order: Execute) -> list[str]:
        """A cell's lines as the user counts them."""
        return [""] * (order.first_line - 1) + order.code.split("\n")

    def written_line(self, file: str, line: int) -> str:
        """A line of a cell's file as the user wrote it; empty for other files."""
        written = self._written.get(file, [])
        return written[line - 1] if 0 < line <= len(written) else ""

    def frame(self, summary: traceback.FrameSummary) -> Frame:
        """Convert one frame of a traceback."""
        cell, line = self.locate(summary.filename, summary.lineno or 0)
        written = self.written_line(summary.filename, summary.lineno or 0)
        source = (written or linecache.getline(summary.filename, summary.lineno or 0)).rstrip()
        # file names of compiled code differ per process; named by the cell, frames compare equal across ranks
        run = self._runs.get(summary.filename, "")
        located = Frame(
            f"cell {cell}" if cell else summary.filename, line, summary.name, source, cell, run=run
        )
        if is_library(located):
            return replace(located, library=True)
        return replace(located, before=self._before(summary))

    def _before(self, summary: traceback.FrameSummary) -> tuple[str, ...]:
        """Source lines above a frame's line, without leading blank ones."""
        number = summary.lineno or 0
        first = max(1, number - CONTEXT)
        name = summary.filename
        lines = [
            (self.written_line(name, n) or linecache.getline(name, n)).rstrip() for n in range(first, number)
        ]
        while lines and not lines[0]:
            lines.pop(0)
        return tuple(lines)

    def _code_name(self, raw: str, code: str, number: int) -> str:
        """File name for compiled code: for the running cell itself the path that the debugger knows."""
        order = self._order
        if order is None or raw == order.code:
            return self._file or str(self._usual_name(raw, code, number))
        name = str(self._usual_name(raw, code, number))
        body = raw.rstrip()
        above = order.code.rstrip().removesuffix(body)
        if body and above != order.code.rstrip():
            lines = above.count("\n") + blank_lines(raw) + order.first_line - 1
            self._inner[name] = (order.label, lines)
        return name
