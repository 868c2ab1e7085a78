"""Says how ranks get a name that they lack and the notebook's kernel has. Pure."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from dtrain_lab.cells.cell_options import CELL
from dtrain_lab.wire.cells import Failure

UNKNOWN = re.compile(r"name '(?P<name>\w+)' is not defined")
CHECKED = 1 << 20
"""Bytes of a value that are pickled to see whether it can be copied."""


def hint(failures: Iterable[Failure], kernel: Mapping[str, Any]) -> str:
    """Return a sentence on the first name that ranks lack and the notebook's kernel has; empty without one.

    Args:
        failures: Failures of a cell, one per rank that failed.
        kernel: The kernel's own variables.
    """
    for failure in failures:
        unknown = UNKNOWN.match(failure.message) if failure.type == "NameError" else None
        name = unknown["name"] if unknown is not None else ""
        if name in kernel and not name.startswith("_"):
            return of_kernel(name, kernel[name])
    return ""


def of_kernel(name: str, value: object) -> str:
    """Return what a name is in the notebook's kernel, and how the ranks get it.

    Args:
        name: The name.
        value: Its value in the kernel.
    """
    kind = "a variable"
    if isinstance(value, ModuleType):
        kind, act = "a module", f"import it in a {CELL} cell, too"
    elif inspect.isclass(value) or inspect.isroutine(value):
        kind = "a class" if inspect.isclass(value) else "a function"
        in_notebook = getattr(value, "__module__", None) == "__main__"
        act = f"{'define' if in_notebook else 'import'} it in a {CELL} cell, too"
    elif not can_be_copied(value):
        act = f"it can't be copied to the ranks, so create it in a {CELL} cell"
    else:
        act = f"`%distributed push {name}` copies it to the ranks"
    return f"{name} is {kind} of the notebook's kernel: {act}."


def can_be_copied(value: object) -> bool:
    """Return whether a value can be pickled, as far as its first megabyte shows."""
    try:
        pickle.Pickler(_Beginning(), protocol=5, buffer_callback=lambda _: False).dump(value)
    except _Enough:
        return True
    except Exception:  # noqa: BLE001 # pickling may raise an exception of any type: that is the answer
        return False
    return True


class _Enough(Exception):
    """Enough of a value was pickled."""


class _Beginning:
    """A file that takes the first bytes of a pickle."""

    def __init__(self) -> None:
        self._taken = 0

    def write(self, data: Any) -> int:
        """Count what is written.

        Args:
            data: Bytes.

        Raises:
            _Enough: More than `CHECKED` bytes were written.
        """
        self._taken += len(data)
        if self._taken > CHECKED:
            raise _Enough
        return len(data)
