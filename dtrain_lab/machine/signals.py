"""Keeps Python's signal handlers out of code that must not be interrupted, such as sending a message.

Python runs a signal handler on the main thread between any two bytecodes. The handler may raise, as Ctrl-C
does, or wait for another thread, as a handler that calls a collective does.
"""

from __future__ import annotations

import functools
import importlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

Handler = Callable[[int, Any], Any] | int | None
"""A signal handler: a function, or a number for a default action of the system."""

try:  # `signal` looks each argument and result up in an enum, which takes ten times as long
    _signal: Any = importlib.import_module("_signal")
except ImportError:
    _signal = signal
set_handler: Callable[[int, Handler], Handler] = _signal.signal
"""Sets the handler of a signal, as `signal.signal`; returns the one before."""
get_handler: Callable[[int], Handler] = _signal.getsignal
"""The handler of a signal, as `signal.getsignal`."""


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Keep interrupts from ending the block, for example while a message is being sent.

    An interrupt that arrives meanwhile is passed to its handler at the end.

    Raises:
        KeyboardInterrupt: At the end, if the handler raises it.
    """
    before: Handler = get_handler(signal.SIGINT)
    # Python interrupts no other thread, and can't call a handler that is not Python's
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[int] = []
    set_handler(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        set_handler(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


class HandlerDeferral:
    """Context manager inside which no user's handler runs; pending handlers run at the end.

    For code of the main thread that holds something another thread needs: a handler that interrupts it and
    waits for that thread would wait forever. On other threads it does nothing, because Python runs no
    handlers there. It may be nested, and has no effect before `install`. A running cell's handler of SIGINT
    is not deferred (it is set by `set_handler`, so that tracebacks show no frame of ours): also use
    `held_interrupts` if SIGINT can arrive.
    """

    def __init__(self) -> None:
        self._main = 0
        self._depth = 0
        self._due: list[int] = []

    def install(self) -> Callable[[], None]:
        """Defer all handlers that are set by `signal.signal` from now on; called on the main thread.

        `signal.getsignal` returns them as they were set.

        Returns:
            Function that undoes this.
        """
        self._main = threading.get_ident()
        usual_set, usual_get = signal.signal, signal.getsignal

        @functools.wraps(usual_set)
        def set_deferred(signalnum: Any, handler: Any) -> Any:
            return _as_set(usual_set(signalnum, _Deferred(self, handler) if callable(handler) else handler))

        @functools.wraps(usual_get)
        def get_as_set(signalnum: Any) -> Any:
            return _as_set(usual_get(signalnum))

        def undo() -> None:
            self._main = 0
            signal.signal, signal.getsignal = usual_set, usual_get

        signal.signal, signal.getsignal = set_deferred, get_as_set
        return undo

    def defers(self, number: int) -> bool:
        """Whether a signal's handler has to wait; if so, the signal is raised again at the end."""
        if self._depth and number not in self._due:
            self._due.append(number)
        return self._depth > 0

    def __enter__(self) -> None:
        if threading.get_ident() == self._main:
            self._depth += 1  # one store: a signal before it is handled at once, a later one deferred

    def __exit__(self, *_: object) -> None:
        if threading.get_ident() != self._main:
            return
        self._depth -= 1
        if self._due and not self._depth:
            due, self._due = self._due, []
            with ExitStack() as each:  # also if the handler of another signal raises
                for number in reversed(due):
                    each.callback(signal.raise_signal, number)


class _Deferred:
    """A handler that waits until the main thread has left the code that must not be interrupted."""

    __slots__ = ("deferral", "handler")

    def __init__(self, deferral: HandlerDeferral, handler: Callable[[int, Any], Any]) -> None:
        self.deferral, self.handler = deferral, handler

    def __call__(self, number: int, frame: Any) -> Any:
        return None if self.deferral.defers(number) else self.handler(number, frame)


def _as_set(handler: Any) -> Any:
    return handler.handler if isinstance(handler, _Deferred) else handler


deferred_handlers = HandlerDeferral()
"""Deferral of this process's signal handlers; installed in ranks of clusters."""
