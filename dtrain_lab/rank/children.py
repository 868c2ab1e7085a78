"""Start methods and pickling for processes that a rank starts, such as DataLoader workers.

A spawned process has not run the cells: it would look for their classes in its own `__main__` and fail. So
classes and functions of cells go there with their name and their code. The spawned processes import this
module to unpickle. A forked process has them, and takes them by name.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import os
import sys
from multiprocessing import reduction
from types import FunctionType
from typing import Any

import cloudpickle


def fork_by_default() -> None:
    """Make fork the default start method unless the user chose one; Python 3.14's own default isn't fork."""
    default: Any = multiprocessing.context._default_context
    if default._actual_context is None and "fork" in multiprocessing.get_all_start_methods():
        # not set_start_method: it may be called only once, and that call is the user's
        default._default_context = multiprocessing.get_context("fork")


def with_code() -> None:
    """Pickle classes and functions of cells with their code: for new processes, and in queues to them."""
    global _rank
    _rank = os.getpid()
    _install()


def load(name: str, data: bytes) -> Any:
    """Unpickle a class or function of a cell.

    Args:
        name: qualified name.
        data: written by cloudpickle.

    Returns:
        The one of this name in the rank and in forked processes; a spawned process makes it, and keeps it
        under its name for the way back.
    """
    if _rank is not None:
        try:
            return named(name)
        except AttributeError:  # a lambda, or a function inside another one
            return cloudpickle.loads(data)
    _install()
    made = cloudpickle.loads(data)
    if name.isidentifier():
        setattr(sys.modules["__main__"], name, made)
    return made


def named(name: str) -> Any:
    """Look up a qualified name in `__main__`, where cells define their classes and functions.

    Raises:
        AttributeError: `__main__` has no such name.
    """
    found: Any = sys.modules["__main__"]
    for part in name.split("."):
        found = getattr(found, part)
    return found


_rank: int | None = None
"""Process id of the rank, in the rank and in what it has forked; None in spawned processes."""


def _install() -> None:
    pickler: Any = reduction.ForkingPickler
    pickler.reducer_override = _reduce


def _reduce(_: Any, obj: Any) -> Any:
    if not (isinstance(obj, type | FunctionType) and obj.__module__ == "__main__"):
        return NotImplemented
    if os.getpid() != _rank and _known(obj):  # on its way to the rank, which has it
        return (named, (obj.__qualname__,))
    return (load, (obj.__qualname__, cloudpickle.dumps(obj)))


def _known(obj: Any) -> bool:
    try:
        return named(obj.__qualname__) is obj
    except AttributeError:
        return False
