"""Messages of pydevd that we recognize: refusals, and errors in expressions. Pure.

They may change with pydevd; an unknown message is passed on unchanged.
`tests/integration/debugger/test_editor_edge_cases.py` and `tests/unit/debugger/test_pydevd_texts.py` fail
when one changes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

GONE = re.compile(r"Wrong ID sent|Unable to find thread|Thread to get completions")
UNCHANGED = re.compile(r"Unable to change: (.*)\.$")
EXCLUDED = "excluded"
LONGEST = 200
"""Maximum characters of an error in a sentence."""


def is_gone(message: str) -> bool:
    """Whether pydevd refuses because it has no such frame or variable."""
    return GONE.match(message) is not None


def unchanged(message: str) -> str | None:
    """Return the variable that pydevd could not set; None if the message says something else."""
    match = UNCHANGED.match(message)
    return match[1] if match else None


def is_excluded(message: object) -> bool:
    """Whether pydevd sets no breakpoint because its rules exclude the file."""
    return EXCLUDED in str(message)


def last_line(text: str) -> str:
    """Last line of a traceback, which names the error."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def error_of(text: str) -> str:
    """An error as Python prints it, from the `repr` that pydevd returns instead of a value."""
    match = re.fullmatch(r"(\w+)\((.*)\)", text.strip(), re.DOTALL)
    try:
        first = ast.literal_eval(f"({match[2]},)")[0] if match else None
    except (ValueError, SyntaxError, IndexError):
        first = None
    return f"{match[1]}: {first}" if match and isinstance(first, str) else last_line(text)


def stop_error(body: Mapping[str, Any]) -> str:
    """The error in one line, "ValueError: bad value 10", from an event that it has stopped a thread.

    Empty for an interrupt, which is not an error of the code.

    Args:
        body: body of the event: `text` is the error's type, `description` its message.
    """
    kind = str(body.get("text") or "")
    if not kind or kind == KeyboardInterrupt.__name__:
        return ""
    lines = str(body.get("description") or "").strip().splitlines()
    text = f"{kind}: {lines[0].strip()}" if lines else kind
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
