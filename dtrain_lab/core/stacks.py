"""Stacks that faulthandler wrote: taken apart. It needs no GIL, so a rank that holds it has some, too."""

from __future__ import annotations

import re
import signal
from typing import Final

from dtrain_lab.core.cluster import Frame

STACKS_SIGNAL: Final = signal.SIGRTMIN + 6 if hasattr(signal, "SIGRTMIN") else 0
"""Has a rank's faulthandler write the stacks of all threads."""
ASK_SIGNAL: Final = signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else 0
"""Has a rank write them between two lines of its Python code, where no thread changes what is read."""
WRITER: Final = "dtrain_write_stacks"
"""Name of the function that does so."""
MOST_FRAMES: Final = 20
_FRAME = re.compile(
    r'(?:File "(?P<file>[^"]+)"|cell (?P<cell>\[[\d ]+\])), line (?P<line>\d+) in (?P<function>.*)'
)
_CELL_FILE = re.compile(r".*\.ipynb(?P<cell>\[\d+\])$")


def main_frames(text: str) -> tuple[Frame, ...]:
    """The main thread of a dump, outermost first, from its first cell on; cells by their name.

    Args:
        text: with `File "…"`, or with `cell [7]` where somebody has named the cells already.
    """
    blocks = re.split(r"\n\n", text.strip())
    main = next((b for b in blocks if ".ipynb[" in b or "  cell [" in b), blocks[-1] if blocks else "")
    found: list[Frame] = []
    for line in main.splitlines():
        match = _FRAME.search(line)
        if match:
            of_job = _CELL_FILE.search(match["file"]) if match["file"] else None
            cell = match["cell"] or (of_job["cell"] if of_job else None)
            file = f"cell {cell}" if cell else match["file"]
            found.append(Frame(file, int(match["line"]), match["function"], "", cell))
    found.reverse()
    first = next((i for i, f in enumerate(found) if f.cell), 0)
    return tuple(found[first:][-MOST_FRAMES:])


def without_writer(text: str) -> str:
    """A dump without the frame of the function that wrote it."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.endswith(f" in {WRITER}\n"))


def main_first(text: str) -> str:
    """A dump with the main thread, which faulthandler writes last, before the others."""
    blocks = re.split(r"\n\n", text.strip())
    title, _, rest = blocks[-1].partition("\n")
    return "\n\n".join([f"Main thread ({title.split('(')[-1]}\n{rest}", *blocks[:-1]]) if rest else text
