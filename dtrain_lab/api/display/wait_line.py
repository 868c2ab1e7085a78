"""A line with the progress of a job or sweep for which a cell or script waits; it changes in place."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[str], None]


@contextmanager
def wait_line(first: str, *, notebook: bool, in_notebook: str, in_terminal: str) -> Iterator[Show]:
    """Display a line, and yield the function that replaces it; any thread may call it.

    A notebook has it as one output, which is updated. A terminal has it as one line, cut to its width. A
    script whose error output is no terminal has none.

    Args:
        first: The text until there is another one.
        notebook: Whether this process is a kernel.
        in_notebook: Where to see more, below the line until the wait ends.
        in_terminal: The same for a terminal, above the line.
    """
    if notebook:
        yield from _in_notebook(first, in_notebook)
    elif sys.stderr.isatty():
        print(in_terminal, file=sys.stderr)
        _print_over(first)
        try:
            yield _print_over
        finally:
            print(file=sys.stderr, flush=True)
    else:
        yield lambda text: None


def _in_notebook(first: str, hint: str) -> Iterator[Show]:
    from IPython.display import display  # here, as the portal's thread must not import it

    def data(text: str, below: str = "") -> dict[str, str]:
        return {"text/plain": f"{text}\n{below}" if below else text}

    handle = display(data(first, hint), raw=True, display_id=True)
    shown = first

    def show(text: str) -> None:
        nonlocal shown
        if text != shown:
            shown = text
            handle.update(data(text, hint), raw=True)

    try:
        yield show
    finally:
        handle.update(data(shown), raw=True)


def _print_over(text: str) -> None:
    width = shutil.get_terminal_size().columns - 1
    shown = text if len(text) <= width else f"{text[: max(0, width - 1)]}…"
    print(f"\r{shown}\x1b[K", end="", file=sys.stderr, flush=True)
