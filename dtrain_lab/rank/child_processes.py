"""Start methods and pickling for processes that a rank starts, such as DataLoader workers.

A spawned process has not run the cells: it would look for their classes in its own `__main__` and fail. So
classes and functions of cells are sent with their name and their code. The spawned processes import this
module to unpickle. A forked process has them already, and gets only their names, as in a notebook. What was
defined after the fork is sent with its code and all values that the code reads, which takes long if they are
large.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import os
import sys
import weakref
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
    os.register_at_fork(before=_forking)
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
        except AttributeError:  # a lambda or nested function has no such name
            return cloudpickle.loads(data)
    _install()
    value = cloudpickle.loads(data)
    if name.isidentifier():
        setattr(sys.modules["__main__"], name, value)
    return value


def named(name: str) -> Any:
    """Look up a qualified name in `__main__`, where cells define their classes and functions.

    Raises:
        AttributeError: `__main__` has no such name.
    """
    value: Any = sys.modules["__main__"]
    for part in name.split("."):
        value = getattr(value, part)
    return value


_rank: int | None = None
"""Process id of the rank, in the rank and in what it has forked; None in spawned processes."""


_spawns = False
"""Whether this rank has spawned a process, to which anything may be sent from then on."""
_forks = 0
_oldest = 0
"""Number of the fork that made the oldest living child; 0 before the first."""
_numbers: dict[int | None, int] = {}
"""Process id of a child → number of its fork."""
_first: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
"""Class or function of a cell → number of the first fork that took it along."""


def _forking() -> None:
    """Note what the process that is about to be forked will have."""
    global _forks, _numbers, _oldest
    if os.getpid() != _rank:
        return
    alive = {child.pid for child in multiprocessing.active_children()}
    _numbers = {pid: _numbers.get(pid, _forks) for pid in alive}
    _forks += 1
    _oldest = min([*_numbers.values(), _forks])
    for value in list(vars(sys.modules["__main__"]).values()):
        if isinstance(value, type | FunctionType) and value.__module__ == "__main__":
            _first.setdefault(value, _forks)


def _install() -> None:
    pickler: Any = reduction.ForkingPickler
    pickler.reducer_override = _reduce


def _reduce(_: Any, obj: Any) -> Any:
    global _spawns
    _spawns = _spawns or multiprocessing.context.get_spawning_popen() is not None
    if not (isinstance(obj, type | FunctionType) and obj.__module__ == "__main__"):
        return NotImplemented
    if _is_ours(obj) and (os.getpid() != _rank or _forked_with(obj)):
        return (named, (obj.__qualname__,))
    return (load, (obj.__qualname__, cloudpickle.dumps(obj)))


def _forked_with(obj: Any) -> bool:
    """Whether all processes that this rank has made have a class or function of the cells."""
    return not _spawns and _first.get(obj, _forks + 1) <= _oldest


def _is_ours(obj: Any) -> bool:
    try:
        return named(obj.__qualname__) is obj
    except AttributeError:
        return False
