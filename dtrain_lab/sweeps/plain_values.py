"""Converts values of NumPy, torch and Python's collections to lists and plain values; imports neither."""

from __future__ import annotations

from typing import Any

COLLECTIONS = (list, tuple, range, set, frozenset)


def value(given: Any) -> Any:
    """Convert collections, arrays and tensors to lists, and scalars to plain values.

    A set is sorted, because its order differs between processes.
    """
    if not isinstance(given, type) and callable(getattr(given, "tolist", None)):  # also of scalars
        return given.tolist()
    if not isinstance(given, COLLECTIONS):
        return given
    values = [value(part) for part in given]
    if isinstance(given, set | frozenset):
        values.sort(
            key=lambda part: (type(part).__name__, part if isinstance(part, float | int) else 0, repr(part))
        )
    return values


def kind(given: Any) -> str:
    """Return a description of a value's type: "a list", "None"."""
    if given is None:
        return "None"
    words = {"int": "a number", "float": "a number", "str": "a string", "bool": "True or False"}
    name = type(given).__name__
    return words.get(name, f"{'an' if name[0] in 'aeiou' else 'a'} {name}")
