"""Interrupts of backward passes that torch runs in a thread of its own, as it does for GPUs."""

from __future__ import annotations

import ctypes
import sys
import threading


def interrupt(main: int) -> None:
    """Raise KeyboardInterrupt in hooks that run in threads of torch while the main thread waits in backward.

    On a GPU backward runs in such a thread. The main thread waits for it in C++, where no signal reaches it;
    what is raised in a hook ends the pass, and is raised there again. A hook that is inside C code is
    interrupted when it comes back from there.

    Args:
        main: identity of the main thread.
    """
    frames = sys._current_frames()
    waiting = frames.get(main)
    if waiting is None or not str(waiting.f_globals.get("__name__", "")).startswith("torch.autograd"):
        return
    known = {t.ident for t in threading.enumerate() if not isinstance(t, threading._DummyThread)}
    for thread in frames.keys() - known:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
        )
