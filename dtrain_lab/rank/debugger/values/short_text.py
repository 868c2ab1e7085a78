"""A value as short text: floats with as many digits as people read, or in full."""

from __future__ import annotations

import reprlib
from collections import deque
from typing import Any

MOST_TEXT = 200
HOLDS_NUMBERS = (float, complex, list, tuple, dict, set, frozenset, deque)
"""Types whose text may have shortened numbers."""


class _Full(reprlib.Repr):
    """Long texts and collections are cut; numbers are whole."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = MOST_TEXT
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 8


class _Readable(_Full):
    """The same with readable numbers: `reprlib` calls the method that is named after a value's type."""

    def repr_float(self, value: float, _: int) -> str:
        return number(value)

    def repr_complex(self, value: complex, _: int) -> str:
        return f"({value:.6g})"

    repr_float16 = repr_float32 = repr_float64 = repr_float


_full, _readable = _Full(), _Readable()


def number(value: float) -> str:
    """A number with six significant digits; as Python writes it if these are all."""
    short = f"{value:.6g}"
    return repr(float(value)) if float(short) == float(value) else short


def text(value: Any, *, full: bool = False) -> str:
    """A value's own text, cut if it is long.

    Args:
        value: anything; its own `__repr__` may raise any error.
        full: whether numbers have all of their digits.
    """
    return (_full if full else _readable).repr(value)
