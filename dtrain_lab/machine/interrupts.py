"""Keeps the user's interrupts out of what must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Keep interrupts of this thread from ending what is inside, such as a message that is half sent.

    An interrupt that comes meanwhile is given to its handler at the end.

    Raises:
        KeyboardInterrupt: At the end, where that is what the handler does.
    """
    before = signal.getsignal(signal.SIGINT)
    # Python interrupts no other thread, and has nothing to call where the handler is not one of Python's
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)
