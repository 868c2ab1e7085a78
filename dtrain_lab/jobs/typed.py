"""Values of parameters as they are typed in the terminal: JSON, or Python's True, False, None and lists."""

from __future__ import annotations

import ast
import json
from typing import Any

PYTHON = {"True": True, "False": False, "None": None}


def typed_value(text: str) -> Any:
    """Return the value that a text names; the text itself where it names none.

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
    if not plain.startswith("["):  # others, as 2024_01, are more likely meant as they stand
        return text
    try:
        found = ast.literal_eval(plain)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    return found if isinstance(found, list) else text
