"""Parses values of parameters typed in a terminal: JSON, or Python's True, False, None and lists."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from typing import Any

from dtrain_lab.errors import BadRequest

PART = re.compile(r"""\s*(?:\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|'[^']*'|"[^"]*")\s*(?=,|$)|[^,]+""")
"""An element of a typed list: commas in quotes and brackets don't separate elements."""
QUOTED = re.compile(r"'([^'\\]*)'")
PYTHON = {"True": True, "False": False, "None": None}


def typed_value(text: str) -> Any:
    """Parse a value; a text that is no such value is returned unchanged.

    Args:
        text: As "0.1", "true", "True", "[1, None]" or "adam".
    """
    plain = text.strip()
    if plain in PYTHON:
        return PYTHON[plain]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    if not plain.startswith("["):  # other texts, such as 2024_01, are more likely meant as strings
        return text
    try:
        value = ast.literal_eval(plain)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, list) else text


def typed_list(text: str) -> list[Any] | None:
    """Parse a comma-separated list of values; None if it has a single value.

    Args:
        text: As "2, 4, 8" or "'a, b', c".
    """
    parts = [part.strip() for part in PART.findall(text)]
    if len(parts) == 1 and "," not in PART.sub("", text):
        return None
    return [quoted[1] if (quoted := QUOTED.fullmatch(part)) else typed_value(part) for part in parts if part]


def once(names: Iterable[str]) -> None:
    """Check that no parameter is given twice.

    Raises:
        BadRequest: A name occurs twice.
    """
    earlier: set[str] = set()
    for name in names:
        if name in earlier:
            raise BadRequest(f"--param {name} is given twice.", "Leave one of them out.")
        earlier.add(name)
