"""ipykernel's private names that a rank needs, and what happens without each."""

from __future__ import annotations

import asyncio
from typing import Any

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
