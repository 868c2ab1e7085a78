"""ipykernel's private names that a rank needs, and what happens without each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ipykernel.ipkernel
import IPython.core.shellapp

from dtrain_lab.rank import preload

_own: dict[int, asyncio.Lock] = {}


def main_lock(kernel: Any) -> asyncio.Lock:
    """The lock that ipykernel holds while a request of ipyparallel runs on the main thread.

    An ipykernel without such a lock gets one of ours: cells still run one at a time, but a view's call may
    then run while a cell awaits something.

    Args:
        kernel: this rank's kernel.

    Returns:
        The lock; the same one at each call.
    """
    lock: asyncio.Lock | None = getattr(kernel, "_main_asyncio_lock", None)
    return lock if lock is not None else _own.setdefault(id(kernel), asyncio.Lock())


def flush(stream: Any) -> None:
    """Send what was written to a stream now; a no-op for streams that can't."""
    method = getattr(stream, "_flush", None)
    if method is not None:
        method()


@contextmanager
def modules_known(app: Any) -> Iterator[None]:
    """Tell a new kernel which modules are loaded: it would look through them all, twice.

    One list is of files that its debugger steps over, the other of modules that `%reset -f aggressive` leaves
    loaded. In a rank, they would cost the pages of all modules, of their names and of their files: 15 MiB.

    Args:
        app: the engine, whose kernel is made meanwhile.
    """
    with preload.hidden_from(ipykernel.ipkernel, IPython.core.shellapp):
        yield
    app.kernel._kernel_modules = preload.files
    debugger = getattr(app.kernel, "debugger", None)
    if debugger is not None:
        debugger.kernel_modules = preload.files
    preload.names.update(preload.since())
    app.kernel.shell._sys_modules_keys = preload.names
