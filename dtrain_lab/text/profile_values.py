"""Words for the values of a profile's file that msgspec refuses, in the terms of TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

from dtrain_lab.text import suggestions

KeyPath = tuple[str, ...]
"""Path of a key in a profile's file: its tables, then its name."""
KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
"""Types of msgspec in the terms of TOML."""
EXAMPLES = {"int": "2", "float": "10.0", "str": '"…"', "bool": "true", "array": '["…"]'}


class Accepted(NamedTuple):
    """Values that a key takes: one of `values`, or those that `description` describes."""

    values: tuple[str, ...] = ()
    description: str = ""


def accepted(kind: type[Struct], table: KeyPath = ()) -> dict[KeyPath, Accepted]:
    """Return the keys that take one of a few values, or a text with a pattern and its description.

    Args:
        kind: Type of a table, or of the whole profile.
        table: Path of that table; empty for the whole profile.
    """
    found: dict[KeyPath, Accepted] = {}
    for key, hint in get_type_hints(kind, include_extras=True).items():
        path = (*table, key)
        if hasattr(hint, "__struct_fields__"):
            found |= accepted(hint, path)
        for part in (hint, *get_args(hint)):
            if get_origin(part) is Literal:
                found[path] = Accepted(values=tuple(str(value) for value in get_args(part)))
            elif get_origin(part) is Annotated:
                for meta in part.__metadata__:
                    if isinstance(meta, Meta) and meta.pattern:
                        found[path] = Accepted(description=meta.description or "")
    return found


def wrong_value(message: str, accepted: Mapping[KeyPath, Accepted], data: Any) -> tuple[str, KeyPath, str]:
    """Describe the values that a key takes, in TOML's terms.

    Args:
        message: msgspec's, such as "Expected `int | null`, got `str` - at `$.nodes`".
        accepted: keys that take only some values of their type.
        data: the parsed TOML.

    Returns:
        The error, the path of the key, and what to do.
    """
    body, _, place = message.partition(" - at `$")
    inner = "[" in place
    path = tuple(part for part in re.sub(r"\[.*?\]", "", place.rstrip("`")).split(".") if part)
    values, description = accepted.get(path, Accepted())
    if description and isinstance(value := _value(data, path), str):
        table = f"[{path[0]}] " if len(path) > 1 else ""
        return f'{table}{path[-1]} is "{value}"', path, f"Use {description}."
    if values:
        name, allowed = path[-1], ", ".join(values)
        given = re.search(r"'(.*)'", body)
        problem = f'{name} is "{given[1]}"' if given else f"{name} has a value of the wrong type"
        meant = suggestions.did_you_mean(given[1], values, suggestions.NEAR_KEY) if given else ""
        table = f"[{path[0]}] " if len(path) > 1 else ""
        return f"{table}{problem}", path, f"{meant} Use one of {allowed}.".lstrip()
    missing = re.fullmatch(r"Object missing required field `(.*)`", body)
    if missing:
        return f"[{'.'.join(path)}] has no {missing[1]}", path, f"Add {missing[1]} to that table."
    types = re.fullmatch(r"Expected `(.*)`, got `(.*)`", body)
    if not types or not path:
        return f"{'.'.join(path)}: {body}" if path else body, path, "Correct the value there."
    table = f"[{'.'.join(path[:-1])}] " if len(path) > 1 else ""
    takes = " or ".join(_kind(kind) for kind in types[1].split(" | ") if kind != "null")
    each = "each value of " if inner else ""
    verb = "has to be" if inner else "takes"
    example = next((EXAMPLES[kind] for kind in types[1].split(" | ") if kind in EXAMPLES), "…")
    written = f"{path[-1]} = {example}" if not inner and types[1] != "object" else None
    hint = f"Write it as {written}." if written else "Correct the value there."
    return f"{table}{each}{path[-1]} {verb} {takes}, not {_given(types[2])}", path, hint


def _value(data: Any, path: KeyPath) -> Any:
    """Return the value at a path in the parsed TOML; None if there is none."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _kind(kind: str) -> str:
    return KINDS.get(kind, f"a {kind}")


def _given(kind: str) -> str:
    return "a number with a fraction" if kind == "float" else _kind(kind)
