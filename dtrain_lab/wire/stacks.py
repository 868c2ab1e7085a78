"""Places in code: where a rank is, frames of a stack, frames of a traceback."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.kinds import CellKind


class Where(Struct, frozen=True):
    """A place in the user's code. Lines count from 1 and include the magic's line.

    `cell` is the cell's name, `[7]`, and `cell_kind` its kind; `cell_id` is its id in the notebook, known
    before the cell has a name. `called_from`: of a place in a file, the innermost line of a cell that called
    it, if that is known.
    """

    notebook: str | None = None
    cell: str | None = None
    file: str | None = None
    function: str | None = None
    line: int | None = None
    cell_id: str | None = None
    cell_kind: CellKind = "cell"
    called_from: Where | None = None


class StackFrame(Struct, frozen=True):
    """One frame of a stack. `library`: whether it is outside the user's own code."""

    where: Where
    source: str = ""
    library: bool = False


class Stack(Struct, frozen=True):
    """The stacks of one rank's threads.

    `frames`: those of its main thread, outermost first, starting at the first cell.
    """

    rank: int
    text: str | None
    error: str | None = None
    frames: tuple[StackFrame, ...] = ()


class Frame(Struct, frozen=True):
    """One frame of a rank's traceback, with its source line if known."""

    file: str
    line: int
    function: str
    source: str = ""
    cell: str | None = None
    """Name of the cell, "[7]", if the frame is in one."""
    before: tuple[str, ...] = ()
    """The source lines above it, if it is the user's own code."""
    run: str = ""
    """The world's id of the cell, since two notebooks may both have a [7]."""
    library: bool = False
    """Whether it is outside the user's own code."""
    repeated: int = 0
    """How many more frames that are equal to it followed, and are left out."""
    left: int = 0
    """How many other frames followed, and are left out."""
