"""A timer that every thread can set without waking the one that waits for it.

A thread that prints would otherwise wake the IOPub thread, so that it begins to count, and then wait for it
to let go of the interpreter: most of what a short `print` costs.
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
    """Calls back in a loop at the earliest time that was asked for.

    To be made in the loop.

    Args:
        due: Called in the loop.
        waits: Whether somebody who asked still waits for the call.

    Raises:
        OSError: The system gives no such timer.
    """

    def __init__(self, due: Callable[[], None], waits: Callable[[], bool]) -> None:
        self._due, self._waits = due, waits
        try:
            libc = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock: the calls take no time
            self._set = libc.timerfd_settime
            self._descriptor = libc.timerfd_create(_MONOTONIC, _FLAGS)
        except AttributeError as error:
            raise OSError(str(error)) from error
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._set.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Spec), ctypes.c_void_p)
        self._at = float("inf")
        """When it is due; infinite while it is not set."""
        asyncio.get_running_loop().add_reader(self._descriptor, self._expired)

    def start(self, delay_s: float) -> None:
        """Have the call made in `delay_s`, unless it is to be made before; from every thread."""
        now = time.monotonic()
        # a time that is over: the loop is about to call, or an interrupt came before the timer was set
        if not now <= self._at <= now + delay_s:
            self._at = now + delay_s
            self._arm(delay_s)

    def stop(self, delay_s: float) -> None:
        """Have no call made, as nobody waits for it; from every thread.

        Args:
            delay_s: For those who begin to wait meanwhile.
        """
        if self._at != float("inf"):
            self._arm(0.0)
            self._at = float("inf")
            if self._waits():
                self.start(delay_s)

    def _arm(self, delay_s: float) -> None:
        """Set the timer; 0.0 to take it back."""
        nanoseconds = round(delay_s * 1e9)
        spec = _Spec(0, 0, nanoseconds // 10**9, nanoseconds % 10**9)
        self._set(self._descriptor, 0, ctypes.byref(spec), None)

    def _expired(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it was set anew meanwhile
            os.read(self._descriptor, 8)
        self._at = float("inf")  # before those who wait are served: whoever comes from here on sets it again
        self._due()
