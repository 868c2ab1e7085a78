"""Shortens tracebacks: repeated frames are counted, and of very many the middle is left out. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from msgspec.structs import replace

from dtrain_lab.wire.stacks import Frame

SHOWN = 3
"""Equal frames in a row that are kept, as in Python's own tracebacks; the others are counted."""
FIRST, LAST = 10, 30
"""Frames that are kept of more: the outermost and the innermost ones."""


def shortened(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Return the frames to keep of a traceback, each with the number of those left out after it.

    Args:
        frames: All frames, outermost first.
    """
    kept: list[Frame] = []
    for frame, same in groupby(frames):
        count = len(list(same))
        kept += [frame] * min(count, SHOWN)
        kept[-1] = replace(frame, repeated=max(0, count - SHOWN))
    if len(kept) <= FIRST + LAST:
        return tuple(kept)
    middle = kept[FIRST:-LAST]
    before = kept[FIRST - 1]
    left = sum(1 + frame.repeated for frame in middle)
    return (*kept[: FIRST - 1], replace(before, left=left), *kept[-LAST:])


def row(frame: Frame) -> list[str]:
    """Return lines that say how many frames are left out after one.

    Args:
        frame: A frame of a shortened traceback.
    """
    rows = []
    if frame.repeated:
        times = "time" if frame.repeated == 1 else "times"
        rows.append(f"  … the frame above repeated {frame.repeated} more {times}")
    if frame.left:
        rows.append(f"  … {frame.left} {'frame' if frame.left == 1 else 'frames'} left out")
    return rows
