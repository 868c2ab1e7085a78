"""Parsing of the stacks that faulthandler writes.

faulthandler needs no GIL, so it also works while a thread of the rank holds the GIL.
"""

from __future__ import annotations

import re
import signal
from typing import Final

from dtrain_lab.wire.stacks import Frame

STACKS_SIGNAL: Final = signal.SIGRTMIN + 6 if hasattr(signal, "SIGRTMIN") else 0
"""Signal that makes a rank's faulthandler write the stacks of all threads."""
ASK_SIGNAL: Final = signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else 0
"""Signal that makes a rank write its stacks between two lines of Python code, where no other thread changes
the frames meanwhile."""
WRITER: Final = "dtrain_write_stacks"
"""Name of the function that writes the stacks on `ASK_SIGNAL`."""
MOST_FRAMES: Final = 20
_FRAME = re.compile(
    r'(?:File "(?P<file>[^"]+)"|cell (?P<cell>\[[\d ]+\])), line (?P<line>\d+) in (?P<function>.*)'
)
_CELL_FILE = re.compile(r".*\.ipynb(?P<cell>\[\d+\])$")


def main_frames(text: str) -> tuple[Frame, ...]:
    """Extract the main thread's frames from a dump.

    Args:
        text: a dump with `File "…"`, or with `cell [7]` if cells have been named already.

    Returns:
        At most `MOST_FRAMES` frames, outermost first, starting at the first cell.
    """
    blocks = re.split(r"\n\n", text.strip())
    main = next((b for b in blocks if ".ipynb[" in b or "  cell [" in b), blocks[-1] if blocks else "")
    frames: list[Frame] = []
    for line in main.splitlines():
        match = _FRAME.search(line)
        if match:
            of_job = _CELL_FILE.search(match["file"]) if match["file"] else None
            cell = match["cell"] or (of_job["cell"] if of_job else None)
            file = f"cell {cell}" if cell else match["file"]
            frames.append(Frame(file, int(match["line"]), match["function"], "", cell))
    frames.reverse()
    first = next((i for i, f in enumerate(frames) if f.cell), 0)
    return tuple(frames[first:][-MOST_FRAMES:])


def without_writer(text: str) -> str:
    """Remove the frame of the function that wrote the dump."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.endswith(f" in {WRITER}\n"))


def main_first(text: str) -> str:
    """Move the main thread, which faulthandler writes last, to the front of a dump."""
    blocks = re.split(r"\n\n", text.strip())
    title, _, rest = blocks[-1].partition("\n")
    return "\n\n".join([f"Main thread ({title.split('(')[-1]}\n{rest}", *blocks[:-1]]) if rest else text
