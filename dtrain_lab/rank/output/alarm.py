"""A timer that any thread sets without waking the loop that it is for."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
from collections.abc import Callable

_MONOTONIC, _FLAGS = 1, os.O_NONBLOCK | os.O_CLOEXEC
_TICKS = 8
"""Bytes that a timer's descriptor gives once it is due."""


class _Spec(ctypes.Structure):
    _fields_ = [
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    ]


class Alarm:
    """Calls a function in a loop after a while. To be made inside the loop.

    A timer of the loop itself has to be made in its thread, which would have to wake for that first. Python
    has the kernel's timers from 3.13 on.

    Args:
        due: What to call.

    Raises:
        OSError: The system has no such timers.
    """

    def __init__(self, due: Callable[[], None]) -> None:
        library = ctypes.PyDLL(None)  # keeps the GIL: each call takes a microsecond
        try:
            make, self._set = library.timerfd_create, library.timerfd_settime
        except AttributeError as error:
            raise OSError("no timerfd here") from error
        self._timer = make(_MONOTONIC, _FLAGS)
        if self._timer < 0:
            raise OSError("timerfd_create failed")
        self._due = due
        asyncio.get_running_loop().add_reader(self._timer, self._fired)

    def set(self, seconds: float) -> None:
        """Call the function in so many seconds, in place of what was set before."""
        whole = int(seconds)
        self._at(_Spec(0, 0, whole, max(1, int((seconds - whole) * 1e9))))

    def stop(self) -> None:
        """Call nothing."""
        self._at(_Spec())

    def _at(self, spec: _Spec) -> None:
        self._set(self._timer, 0, ctypes.byref(spec), None)

    def _fired(self) -> None:
        with contextlib.suppress(BlockingIOError):  # stopped meanwhile
            os.read(self._timer, _TICKS)
            self._due()
