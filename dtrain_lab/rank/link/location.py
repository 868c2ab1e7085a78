"""Where a rank is: the frames of its cell, and on request the stacks of all its threads."""

from __future__ import annotations

import sys
import threading
import traceback

from dtrain_lab.rank.cells.compiled_cells import CompiledCells
from dtrain_lab.wire import links
from dtrain_lab.wire.stacks import Frame


def location(rank: int, order: links.ReadStacks, main: int | None, cells: CompiledCells) -> links.StacksRead:
    """Look where this process is, from a thread beside the main one.

    Args:
        rank: Number of this rank.
        order: The request: whether it asks for all threads.
        main: Identity of the main thread; None if unknown.
        cells: Names the cell of a frame.
    """
    names = {t.ident: t.name for t in threading.enumerate()}
    stacks = sys._current_frames()
    inmost = stacks.get(main or 0)
    frames: tuple[Frame, ...] = ()
    if inmost is not None:
        frames = tuple(cells.frame(f) for f in traceback.extract_stack(inmost))
        first = next((i for i, f in enumerate(frames) if f.cell), None)
        frames = frames[first:] if first is not None else ()
    text = ""
    if not order.main_only:
        parts = []
        for ident, frame in sorted(stacks.items(), key=lambda item: item[0] != main):
            title = "Main thread" if ident == main else f"Thread {names.get(ident, ident)}"
            parts.append(f"{title}:\n{''.join(traceback.format_stack(frame))}")
        text = "\n".join(parts)
    return links.StacksRead(rank=rank, id=order.id, frames=frames[-20:], text=text)
