"""Converts msgspec's errors in a request's arguments to messages. Pure.

msgspec reports them as text only. `tests/unit/debugger/test_editor.py` fails when its texts change; an
unknown text is not displayed, because it would name our classes.
"""

from __future__ import annotations

import re

LACKING = re.compile(r"Object missing required field `(\w+)`(?: - at `\$\.?(.*)`)?")
OTHER_KIND = re.compile(r"Expected `([^`]*)`, got `(\w+)`(?: - at `\$\.?(.*)`)?")
KINDS = {
    "int": "a number",
    "str": "a text",
    "array": "a list",
    "object": "an object",
    "bool": "true or false",
}


def in_words(text: str) -> str:
    """Return a message for the text of a `msgspec.ValidationError`."""
    if match := LACKING.match(text):
        return f"{match[2] or 'its arguments'} must have {match[1]}."
    if match := OTHER_KIND.match(text):
        wanted = KINDS.get(match[1].split(" ")[0])
        place = match[3] or "its arguments"
        return f"{place} must be {wanted}." if wanted else f"{place} can't be read."
    return "its arguments can't be read."
