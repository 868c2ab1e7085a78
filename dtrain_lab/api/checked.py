"""Checks requests that Python code makes, as REST checks those that it decodes."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from dtrain_lab.errors import BadRequest

T = TypeVar("T", bound=msgspec.Struct)


def checked(call: str, request: T) -> T:
    """Return a request whose values have the types that it declares.

    Args:
        call: What was called, for the message: "dt.sweep".
        request: The request, made without any check.

    Raises:
        BadRequest: A value has another type, or is none of the words that are known.
    """
    try:
        msgspec.convert(msgspec.to_builtins(request, enc_hook=repr), type(request))
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        name = where.removesuffix("`")
        value = getattr(request, name, None)
        raise BadRequest(f"{call}: {name} can't be {value!r}: {what[0].lower()}{what[1:]}.") from error
    return request
