"""How SIGINT ends a cell: it raises in plain code, and cancels the task of a cell that awaits."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import signal
import warnings
from collections.abc import Iterator
from typing import Any

from dtrain_lab.machine.signals import set_handler


def has_await(code: str) -> bool:
    """Whether a cell's code awaits at its top level."""
    if "await" not in code and "async" not in code:  # spares most cells a compilation
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the shell shows warnings when it compiles
            compiled = compile(code, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):  # the shell reports the error when it compiles
        return False
    return bool(compiled.co_flags & inspect.CO_COROUTINE)


@contextlib.contextmanager
def interruptible(task: asyncio.Future[Any] | None) -> Iterator[asyncio.Future[Any] | None]:
    """Make SIGINT raise KeyboardInterrupt in plain code, and cancel the task of a cell that awaits."""

    def cancel(*_: object) -> None:
        if task is not None:
            task.get_loop().call_soon_threadsafe(task.cancel)

    before = set_handler(signal.SIGINT, cancel if task is not None else signal.default_int_handler)
    try:
        yield task
    finally:
        set_handler(signal.SIGINT, before)
