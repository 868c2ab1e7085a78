"""Start methods and pickling for processes that a rank starts, such as DataLoader workers.

A spawned process has not run the cells: it would look for their classes in its own `__main__` and fail. So
classes and functions of cells are pickled by value. The spawned processes import this module to unpickle.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import sys
from multiprocessing import reduction
from types import FunctionType
from typing import IO, Any

import cloudpickle


class _ByValue(reduction.ForkingPickler):
    """multiprocessing's pickler, except that classes and functions defined in cells go by value."""

    def reducer_override(self, obj: Any) -> Any:
        return (load, (cloudpickle.dumps(obj),)) if _of_cells(obj) else NotImplemented


def fork_by_default() -> None:
    """Make fork the default start method unless the user chose one; Python 3.14's own default isn't fork."""
    default: Any = multiprocessing.context._default_context
    if default._actual_context is None and "fork" in multiprocessing.get_all_start_methods():
        # not set_start_method: it may be called only once, and that call is the user's
        default._default_context = multiprocessing.get_context("fork")


def by_value() -> None:
    """Pickle classes and functions of cells by value for spawned processes."""

    def dump(obj: Any, file: IO[bytes], protocol: int | None = None) -> None:
        _ByValue(file, protocol).dump(obj)

    reduction.dump = dump  # type: ignore[assignment]


def load(data: bytes) -> Any:
    """Unpickle in the spawned process.

    From then on this process pickles cell classes by name, because the rank that receives them has them.

    Args:
        data: written by cloudpickle in the rank.

    Returns:
        The class or function.
    """
    pickler: Any = reduction.ForkingPickler
    pickler.reducer_override = _by_name
    return cloudpickle.loads(data)


def _by_name(_: Any, obj: Any) -> Any:
    return (named, (obj.__qualname__,)) if _of_cells(obj) else NotImplemented


def named(name: str) -> Any:
    """Look up a qualified name in `__main__`, where cells define their classes and functions."""
    found: Any = sys.modules["__main__"]
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _of_cells(obj: Any) -> bool:
    return isinstance(obj, type | FunctionType) and obj.__module__ == "__main__"
