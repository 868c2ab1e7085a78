"""Parsing of profiles: TOML files that users edit, with errors that name line and nearest known key."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, get_args, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.errors import BadProfile, DtrainError
from dtrain_lab.placement.amounts import mib
from dtrain_lab.placement.network import port_range
from dtrain_lab.text import suggestions
from dtrain_lab.text.profile_values import Accepted, KeyPath, accepted, wrong_value
from dtrain_lab.wire.kinds import EnvironmentKind
from dtrain_lab.wire.profile import Environment, Profile


def environment_of(text: str, like: Environment) -> Environment:
    """Parse the environment in a request: "current", or "kind:path".

    Args:
        text: the environment as the user wrote it.
        like: the profile's environment, whose setup and variables are kept.

    Raises:
        BadProfile: unknown kind, or a missing path.
    """
    kind, _, path = text.partition(":")
    kinds = get_args(EnvironmentKind)
    if kind not in kinds or (kind not in ("current", "modules") and not path):
        raise BadProfile(
            f'"{text}" is not an environment.',
            f'Write it as "current", or as kind:path, with a kind of: {", ".join(kinds[1:])}.',
            code="bad_environment",
            details={"field": "environment"},
        )
    return replace(like, kind=cast(EnvironmentKind, kind), path=path or None)


LEAST_STUCK_S, MOST_STUCK_S = 1.0, 86_400.0
TABLES: dict[str, type[Struct]] = {
    key: kind for key, kind in get_type_hints(Profile).items() if hasattr(kind, "__struct_fields__")
}
"""Tables of a profile's file, without that of a back-end of another package."""
KEYS = [f.name for f in msgspec.structs.fields(Profile) if f.name not in ("name", "section")]
"""Keys of a profile's file, without the table of a back-end of another package."""


def parse(
    text: str, name: str, file: str, section: Callable[[str], type[Struct] | None] = lambda backend: None
) -> Profile:
    """Parse a profile.

    Args:
        text: the TOML.
        name: the profile's name.
        file: path that an error names.
        section: returns the type of a back-end's own table, by the back-end's name; None if it has none.

    Raises:
        BadProfile: not TOML, an unknown key, or a value of the wrong type or out of range; the error's
            details carry `file`, `line`, `key` and the nearest known key, and `also` what else is wrong.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise _error(file, int(line[1]) if line else None, f"{error}", "Correct the TOML there.") from error
    except RecursionError as error:
        raise _error(file, None, "its brackets are nested too deeply", "Correct the TOML.") from error
    backend = data.get("backend", Profile().backend)
    theirs = section(backend) if isinstance(backend, str) else None
    section_types: dict[str, type[Struct]] = {} if theirs is None else {backend: theirs}
    wrong = _unknown_keys(data, [*KEYS, *section_types], (), text, file)
    for table, kind in {**TABLES, **section_types}.items():
        if isinstance(data.get(table), dict):
            keys = [f.encode_name for f in msgspec.structs.fields(kind)]
            wrong += _unknown_keys(data[table], keys, (table,), text, file)
            data[table] = {key: value for key, value in data[table].items() if key in keys}
    values = {key: value for key, value in data.items() if key in KEYS and key not in section_types}
    for message in _refusals(values, Profile):
        wrong.append(_refused_value(message, accepted(Profile), data, text, file))
    profile = Profile()
    for key, value in values.items():  # those that can be read may be out of range, too
        with contextlib.suppress(msgspec.ValidationError):
            profile = replace(profile, **{key: getattr(msgspec.convert({key: value}, Profile), key)})
    wrong += _bad_values(profile, text, file)
    section_values: dict[str, Any] = {}
    for table, kind in section_types.items():
        found = [_below(table, message) for message in _refusals(data.get(table, {}), kind)]
        takes = accepted(kind, (table,))
        wrong += [_refused_value(message, takes, data, text, file) for message in found]
        if not found:
            section_values = msgspec.to_builtins(msgspec.convert(data.get(table, {}), kind))
    if wrong:
        raise _together(wrong)
    return msgspec.structs.replace(profile, name=name, section=section_values)


def _refusals(values: Any, kind: type[Struct]) -> list[str]:
    """Return what msgspec says of each value that a table doesn't take; it stops at the first one itself."""
    try:
        msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        whole = str(error)
    else:
        return []
    said: list[str] = []
    types = get_type_hints(kind)
    for key, value in values.items() if isinstance(values, dict) else ():
        try:
            msgspec.convert({key: value}, kind)
        except msgspec.ValidationError as error:
            inner = types.get(key)
            each = _refusals(value, inner) if isinstance(value, dict) and isinstance(inner, type) else []
            said += [_below(key, message) for message in each] or [str(error)]
    known = [message for message in said if not message.startswith("Object missing required field")]
    return known or [whole]


def _together(wrong: Sequence[BadProfile]) -> BadProfile:
    """Return the error of the uppermost line, with the others in its details."""
    first, *others = sorted(wrong, key=lambda error: error.details["line"] or 0)
    if others:
        first.details["also"] = [
            {"severity": "problem", "code": error.code, "message": error.message, "fix": error.hint}
            for error in others
        ]
    return first


def no_backend(profile: Profile, text: str, file: str, backends: Sequence[str]) -> BadProfile:
    """Make the error for a profile whose back-end is not installed.

    Args:
        profile: as `parse` returned it.
        text: the TOML.
        file: path of the profile.
        backends: names of the installed back-ends.
    """
    problem, hint = f'backend: there is no back-end "{profile.backend}"', f"Use one of {', '.join(backends)}."
    return _error(file, _line(text, ("backend",)), problem, hint, key="backend")


def _unknown_keys(
    table: dict[str, Any], keys: Sequence[str], path: tuple[str, ...], text: str, file: str
) -> list[BadProfile]:
    wrong = []
    for key in table:
        if key in keys:
            continue
        near = suggestions.nearest(key, keys, suggestions.NEAR_KEY)
        where = f"[{path[0]}] {key}" if path else key
        hint = f"Did you mean {near}?" if near is not None else f"Known keys: {', '.join(keys)}."
        line = _line(text, (*path, key))
        wrong.append(_error(file, line, f'unknown key "{where}"', hint, key=key, near=near))
    return wrong


def _bad_values(profile: Profile, text: str, file: str) -> list[BadProfile]:
    """Return an error for each value that has the right type, and is out of range or can't be read."""
    wrong = []
    for key in ("nodes", "ranks_per_node", "cpus_per_rank"):
        value = getattr(profile, key)
        if value is not None and value < 1:
            line = _line(text, (key,))
            wrong.append(_error(file, line, f"{key} is {value}", "It must be 1 or more.", key=key))
    after = profile.watch.stuck_after_s
    if not LEAST_STUCK_S <= after <= MOST_STUCK_S:
        key, line = "stuck_after_s", _line(text, ("watch", "stuck_after_s"))
        hint = f"It must be {LEAST_STUCK_S:g} to {MOST_STUCK_S:g} seconds."
        wrong.append(_error(file, line, f"[watch] {key} is {after:g}", hint, key=key))
    return wrong + _bad_texts(profile, text, file)


def _bad_texts(profile: Profile, text: str, file: str) -> list[BadProfile]:
    """Return an error for an invalid size or range here, where the error can name the line."""
    wrong = []
    for path, reads, value in (
        (("memory_per_node",), mib, profile.memory_per_node),
        (("network", "ports"), port_range, profile.network.ports),
    ):
        try:
            reads(value)
        except DtrainError as error:
            problem = error.message.removeprefix(f"{path[-1]}: ").rstrip(".")
            where = f"[{path[0]}] {path[-1]}" if len(path) > 1 else path[-1]
            wrong.append(_error(file, _line(text, path), f"{where}: {problem}", error.hint, key=path[-1]))
    return wrong


def _below(table: str, message: str) -> str:
    """Return msgspec's message about a table as if the whole file had been converted."""
    body, _, place = message.partition(" - at `$")
    return f"{body} - at `$.{table}{place or '`'}"


def _refused_value(
    message: str, takes: Mapping[KeyPath, Accepted], data: Any, text: str, file: str
) -> BadProfile:
    problem, path, hint = wrong_value(message, takes, data)
    return _error(file, _line(text, path), problem, hint)


def _line(text: str, path: tuple[str, ...]) -> int | None:
    """Find the line of a key, from 1, since tomllib doesn't keep line numbers; None if not found."""
    if not path:
        return None
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\]]+)\]", line)
        if header:
            table = header[1].strip()
            if path == (table,):
                return number
        elif table == ".".join(path[:-1]) and re.match(rf'\s*"?{re.escape(path[-1])}"?\s*=', line):
            return number
    return None


def _error(file: str, line: int | None, problem: str, hint: str, **details: Any) -> BadProfile:
    where = f"{file}, line {line}" if line else file
    return BadProfile(f"{where}: {problem}.", hint, details={"file": file, "line": line, **details})
