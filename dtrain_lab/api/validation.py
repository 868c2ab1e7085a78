"""Checks requests from Python code in the same way as REST checks those that it decodes."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from dtrain_lab.errors import BadRequest

T = TypeVar("T", bound=msgspec.Struct)

WORDS = {
    "int": "a whole number", "float": "a number", "str": "a text", "bool": "True or False", "null": "None",
    "array": "a list", "object": "a dict",
}  # fmt: skip
"""Descriptions of msgspec's type names."""


def checked(call: str, request: T) -> T:
    """Return a request whose values have the types that it declares.

    Args:
        call: What was called, for the message: "dt.sweep".
        request: The unchecked request.

    Raises:
        BadRequest: A value has another type, or is not one of the allowed words.
    """
    try:
        msgspec.convert(msgspec.to_builtins(request, enc_hook=repr), type(request))
    except msgspec.ValidationError as error:
        text = str(error)
        match = re.search(r"`\$\.(\w+)", text)
        name = match[1] if match else ""
        details = {"field": name}
        if " - at `key`" in text:
            message = f"{call}: {name} has a name that is not a string."
            raise BadRequest(message, "Use strings as names of parameters.", details=details) from error
        value, wanted = getattr(request, name, None), _wanted(type(request), name, text)
        raise BadRequest(f"{call}: {name} can't be {value!r}: {wanted}.", details=details) from error
    return request


def _wanted(kind: type, name: str, text: str) -> str:
    """Return a description of a field's valid values, from msgspec's error."""
    hint = get_type_hints(kind).get(name)
    choices = _choices(hint)
    if choices:
        return f"choose {' or '.join(choices)}"
    types = re.match(r"Expected `([^`]+)`", text)
    if types is None:
        plain = text.partition(" - at ")[0]
        return plain[0].lower() + plain[1:]
    return f"it must be {' or '.join(WORDS.get(kind_name, kind_name) for kind_name in types[1].split(' | '))}"


def _choices(hint: Any) -> list[str]:
    """Return the allowed words of a field; empty if any text is allowed."""
    if get_origin(hint) is Literal:
        return [f'"{word}"' for word in get_args(hint)]
    parts = [words for part in get_args(hint) if (words := _choices(part))]
    none = ["None"] if parts and type(None) in get_args(hint) else []
    return [*(word for words in parts for word in words), *none]
