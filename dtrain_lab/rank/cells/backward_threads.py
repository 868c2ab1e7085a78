"""Interrupts of backward passes that torch runs in threads of its own, as it does for GPUs."""

from __future__ import annotations

import ctypes
import sys
import threading

import torch

from dtrain_lab.machine.signals import deferred_handlers

_threads: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]
_raise = ctypes.pythonapi.PyThreadState_SetAsyncExc


class BackwardThreads:
    """Raises KeyboardInterrupt in hooks of a backward pass for which the main thread waits.

    On a GPU backward runs in a thread of torch. The main thread waits for it in C++, where no signal reaches
    it; what is raised in a hook ends the pass, and is raised there again. A hook that is inside C code is
    interrupted when it comes back from there.

    Python does not know torch's threads. So each thread that `threading` does not list, and that began to run
    Python in this cell, is taken for one of them. This includes threads that the cell itself has started with
    `_thread`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._before: frozenset[int] = frozenset()
        self._interrupted: list[int] = []

    def begin_cell(self) -> None:
        """Called before a cell begins."""
        self._before = frozenset(sys._current_frames())

    def interrupt(self, main: int) -> None:
        """Interrupt the hooks that run now; does nothing unless this process uses a GPU.

        Args:
            main: identity of the main thread.
        """
        if not torch.cuda.is_initialized():  # without a GPU, the main thread runs the hooks
            return
        with self._lock:
            frames = sys._current_frames()
            waiting = frames.get(main)
            if waiting is None or not str(waiting.f_globals.get("__name__", "")).startswith("torch.autograd"):
                return
            # not `enumerate`, which the debugger replaces to hide our own threads and its own
            python_threads = {n for n, t in _threads.items() if not isinstance(t, threading._DummyThread)}
            for thread in frames.keys() - python_threads - self._before - {threading.get_ident()}:
                _raise(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
                self._interrupted.append(thread)

    def end_cell(self) -> None:
        """Called when a cell has ended: what was raised too late for its hook must not end a later one."""
        with deferred_handlers, self._lock:
            for thread in self._interrupted:
                _raise(ctypes.c_ulong(thread), None)
            self._interrupted.clear()
