"""A timer that any thread can set without waking the thread that waits for it.

Otherwise a thread that prints would wake the IOPub thread to start a timer, and then wait for that thread to
release the GIL, which is most of the cost of a short `print`.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import time
from collections.abc import Callable

_MONOTONIC = 1
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC


class _Spec(ctypes.Structure):
    """`struct itimerspec`: the interval, then the first expiry, each in seconds and nanoseconds."""

    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "in_s", "in_ns")]


class FlushTimer:
    """Calls back in a loop at the earliest requested time.

    Create it in the loop.

    Args:
        due: Called in the loop.
        waits: Whether a caller still waits for the callback.

    Raises:
        OSError: The system has no such timer.
    """

    def __init__(self, due: Callable[[], None], waits: Callable[[], bool]) -> None:
        self._due, self._waits = due, waits
        try:
            libc = ctypes.PyDLL(None, use_errno=True)  # PyDLL keeps the GIL: the calls are short
            self._set = libc.timerfd_settime
            self._descriptor = libc.timerfd_create(_MONOTONIC, _FLAGS)
        except AttributeError as error:
            raise OSError(str(error)) from error
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._set.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Spec), ctypes.c_void_p)
        self._at = float("inf")
        """Expiry time; infinite while the timer is not set."""
        asyncio.get_running_loop().add_reader(self._descriptor, self._expired)

    def start(self, delay_s: float) -> None:
        """Set the timer to expire in `delay_s`, unless it expires earlier; may be called by any thread."""
        now = time.monotonic()
        # if `_at` has passed, the loop is about to call `due`, or an interrupt came before the timer was set
        if not now <= self._at <= now + delay_s:
            self._at = now + delay_s
            self._arm(delay_s)

    def stop(self, delay_s: float) -> None:
        """Cancel the timer, because nobody waits for it; may be called by any thread.

        Args:
            delay_s: Expiry for callers that start to wait meanwhile.
        """
        if self._at != float("inf"):
            self._arm(0.0)
            self._at = float("inf")
            if self._waits():
                self.start(delay_s)

    def _arm(self, delay_s: float) -> None:
        """Set the timer; 0.0 cancels it."""
        nanoseconds = round(delay_s * 1e9)
        spec = _Spec(0, 0, nanoseconds // 10**9, nanoseconds % 10**9)
        self._set(self._descriptor, 0, ctypes.byref(spec), None)

    def _expired(self) -> None:
        with contextlib.suppress(BlockingIOError):  # set again meanwhile, and not expired
            os.read(self._descriptor, 8)
        self._at = float("inf")  # reset before `due` runs, so that later callers set the timer again
        self._due()
