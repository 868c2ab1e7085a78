"""Holds a paused main thread until the interrupt comes that it was released for.

pydevd's wait must end before: on Python 3.12 and newer, a thread would miss an interrupt inside it. Without
the hold, the thread would run on until the interrupt comes, also into an optimizer step that not every rank
makes.
"""

from __future__ import annotations

import functools
import signal
import threading
import time
from typing import Any

from dtrain_lab.machine.signals import Handler, get_handler, set_handler

COMES_WITHIN_S = 10.0
"""Then the thread runs on: whatever was to interrupt it has ended."""
POLL_S = 0.005
_expected = False
_holds = False


def install(database: Any) -> None:
    """Hold the main thread after each stop that ends for an interrupt; called once.

    Args:
        database: pydevd's debugger of this process.
    """
    usual = database.do_wait_suspend

    @functools.wraps(usual)
    def wait_suspended(*args: Any, **options: Any) -> None:
        try:
            usual(*args, **options)
        except KeyboardInterrupt:  # the interrupt came sooner, while pydevd ended the stop
            forget()
            raise
        if _expected and threading.current_thread() is threading.main_thread():
            _hold()

    database.do_wait_suspend = wait_suspended


def expect() -> None:
    """An interrupt is on its way: hold the main thread once its stop has ended."""
    global _expected
    _expected = True


def forget() -> None:
    """No interrupt is expected any more, as after the end of a cell."""
    global _expected
    _expected = False


def holds() -> bool:
    """Whether the main thread is held."""
    return _holds


def _hold() -> None:
    """Wait for the interrupt, then pass it to its handler, which may raise KeyboardInterrupt."""
    global _expected, _holds
    came: list[int] = []
    before: Handler = get_handler(signal.SIGINT)
    if before is None:  # not set from Python, and so it can't be set back
        forget()
        return
    set_handler(signal.SIGINT, lambda number, _: came.append(number))
    try:
        _holds = True
        until = time.monotonic() + COMES_WITHIN_S
        while _expected and not came and time.monotonic() < until:
            time.sleep(POLL_S)
    finally:
        _holds = _expected = False
        set_handler(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)
