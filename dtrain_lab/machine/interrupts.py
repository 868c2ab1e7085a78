"""Keeps the user's interrupts out of what must not be left half done."""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Handler = Callable[[int, Any], Any] | int | None
"""What handles a signal: a function, or a number for one of the system's ways."""

try:  # `signal` looks each argument and result up in an enum, which takes ten times as long
    _signal: Any = importlib.import_module("_signal")
except ImportError:
    _signal = signal
handle: Callable[[int, Handler], Handler] = _signal.signal
"""Sets what handles a signal, as `signal.signal`; returns what has handled it."""
handler: Callable[[int], Handler] = _signal.getsignal
"""What handles a signal, as `signal.getsignal`."""


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Keep interrupts of this thread from ending what is inside, such as a message that is half sent.

    An interrupt that comes meanwhile is given to its handler at the end.

    Raises:
        KeyboardInterrupt: At the end, where that is what the handler does.
    """
    before: Handler = handler(signal.SIGINT)
    # Python interrupts no other thread, and has nothing to call where the handler is not one of Python's
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[int] = []
    handle(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        handle(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)
