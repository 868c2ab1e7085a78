"""Encoding of messages to other processes, including text that is not valid Unicode."""

from __future__ import annotations

from typing import Any

import msgspec

_encode = msgspec.msgpack.Encoder().encode


def encode(message: Any) -> bytes:
    """Encode a message as msgpack.

    A lone surrogate (from a file name or an exception's message) can't be encoded and becomes a question
    mark, as in the output of ranks. Failing instead would leave the receiver waiting forever.
    """
    try:
        return _encode(message)
    except UnicodeEncodeError:
        return _encode(_cleaned(msgspec.to_builtins(message, builtin_types=(bytes,))))


def encode_json(value: Any) -> bytes:
    """Encode a value as JSON in the same way; types that JSON lacks become text."""
    try:
        return msgspec.json.encode(value, enc_hook=str)
    except UnicodeEncodeError:
        return msgspec.json.encode(_cleaned(value), enc_hook=str)


def as_json(value: msgspec.Struct) -> dict[str, Any]:
    """Return what REST and `--json` report of a value: lists for tuples, null for NaN."""
    plain: dict[str, Any] = msgspec.json.decode(encode_json(value))
    return plain


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_cleaned(key): _cleaned(part) for key, part in value.items()}
        case list() | tuple():
            return [_cleaned(part) for part in value]
        case _:
            return value
