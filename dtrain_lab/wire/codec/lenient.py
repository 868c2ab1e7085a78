"""Decoding of JSON, or of values from JSON, that another version wrote: unknown fields are ignored."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

T = TypeVar("T")


def decode(data: bytes, kind: type[T]) -> T:
    """Decode JSON, ignoring unknown fields that a newer version has written.

    Args:
        data: the JSON text.
        kind: type to decode into.

    Raises:
        msgspec.DecodeError: not JSON, or a required field is missing or has another type.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        return convert(msgspec.json.decode(data), kind)


def convert(value: Any, kind: type[T]) -> T:
    """Convert a value that was decoded without its type, ignoring unknown fields.

    Args:
        value: the value.
        kind: type to convert into.

    Raises:
        msgspec.ValidationError: a required field is missing or has another type.
    """
    return msgspec.convert(_without_unknown(value, _shape(kind)), kind)  # type: ignore[arg-type]


@functools.cache
def _shape(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _without_unknown(value: Any, shape: inspect.Type) -> Any:
    match shape:
        case inspect.Metadata():
            return _without_unknown(value, shape.type)
        case inspect.UnionType():
            fitting = (t for t in shape.types if isinstance(t, inspect.StructType))
            struct = next(fitting, None)
            return _without_unknown(value, struct) if struct is not None else value
        case inspect.StructType() if isinstance(value, dict):
            types = {field.encode_name: field.type for field in shape.fields}
            return {
                name: _without_unknown(part, types[name]) for name, part in value.items() if name in types
            }
        case inspect.VarTupleType() | inspect.ListType() if isinstance(value, list):
            return [_without_unknown(part, shape.item_type) for part in value]
        case inspect.DictType() if isinstance(value, dict):
            return {name: _without_unknown(part, shape.value_type) for name, part in value.items()}
    return value
