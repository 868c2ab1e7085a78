"""Parsing of profiles: TOML files that users edit, with errors that name line and nearest known key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.errors import BadProfile, DtrainError
from dtrain_lab.placement.amounts import mib
from dtrain_lab.placement.network import port_range
from dtrain_lab.text import suggestions
from dtrain_lab.wire.kinds import Accelerator, EnvironmentKind, Framework, HangAction, SlurmLauncher
from dtrain_lab.wire.profile import Environment, Network, Profile, Slurm, Ssh, Watch


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


JOB_NUMBER = r"\d+([_+]\d+)?"
LEAST_STUCK_S, MOST_STUCK_S = 1.0, 86_400.0
TABLES: dict[str, type[Struct]] = {
    "environment": Environment,
    "network": Network,
    "ssh": Ssh,
    "slurm": Slurm,
    "watch": Watch,
}
KEYS = [f.name for f in msgspec.structs.fields(Profile) if f.name not in ("name", "section")]
"""Keys of a profile's file, without the table of a back-end of another package."""
Values = Mapping[tuple[str, ...], tuple[Any, ...]]
VALUES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("environment", "kind"): get_args(EnvironmentKind),
    ("watch", "on_hang"): get_args(HangAction),
    ("slurm", "launcher"): get_args(SlurmLauncher),
    ("framework",): get_args(Framework),
    ("accelerator",): get_args(Accelerator),
}
"""Keys that take one of a few values."""
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
            details carry `file`, `line`, `key` and the nearest known key.
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
    own: dict[str, type[Struct]] = {} if theirs is None else {backend: theirs}
    _refuse_unknown(data, [*KEYS, *own], (), text, file)
    for table, kind in {**TABLES, **own}.items():
        if isinstance(data.get(table), dict):
            known = [f.encode_name for f in msgspec.structs.fields(kind)]
            _refuse_unknown(data[table], known, (table,), text, file)
    values = {key: value for key, value in data.items() if key not in own}
    try:
        profile = msgspec.convert(values, Profile)
    except msgspec.ValidationError as error:
        raise _refused_value(str(error), VALUES, text, file) from error
    _refuse_sizes(profile, text, file)
    found: dict[str, Any] = {}
    for table, kind in own.items():
        try:
            found = msgspec.to_builtins(msgspec.convert(data.get(table, {}), kind))
        except msgspec.ValidationError as error:
            raise _refused_value(_below(table, str(error)), _choices(table, kind), text, file) from error
    return msgspec.structs.replace(profile, name=name, section=found)


def no_backend(profile: Profile, text: str, file: str, known: Sequence[str]) -> BadProfile:
    """Make the error for a profile whose back-end is not installed.

    Args:
        profile: as `parse` returned it.
        text: the TOML.
        file: path of the profile.
        known: names of the installed back-ends.
    """
    what, hint = f'backend: there is no back-end "{profile.backend}"', f"Use one of {', '.join(known)}."
    return _error(file, _line(text, ("backend",)), what, hint, key="backend")


def _refuse_unknown(
    table: dict[str, Any], known: Sequence[str], path: tuple[str, ...], text: str, file: str
) -> None:
    for key in table:
        if key in known:
            continue
        near = suggestions.nearest(key, known, suggestions.NEAR_KEY)
        where = f"[{path[0]}] {key}" if path else key
        hint = f"Did you mean {near}?" if near is not None else f"Known keys: {', '.join(known)}."
        raise _error(
            file,
            _line(text, (*path, key)),
            f'unknown key "{where}"',
            hint,
            key=key,
            near=near,
        )


def _refuse_sizes(profile: Profile, text: str, file: str) -> None:
    for key in ("nodes", "ranks_per_node", "cpus_per_rank"):
        value = getattr(profile, key)
        if value is not None and value < 1:
            raise _error(file, _line(text, (key,)), f"{key} is {value}", "It must be 1 or more.", key=key)
    after = profile.watch.stuck_after_s
    if not LEAST_STUCK_S <= after <= MOST_STUCK_S:
        key, line = "stuck_after_s", _line(text, ("watch", "stuck_after_s"))
        hint = f"It must be {LEAST_STUCK_S:g} to {MOST_STUCK_S:g} seconds."
        raise _error(file, line, f"[watch] {key} is {after:g}", hint, key=key)
    _refuse_texts(profile, text, file)


def _refuse_texts(profile: Profile, text: str, file: str) -> None:
    """Refuse an invalid size, range or job number here, where the error can name the line."""
    for path, reads, value in (
        (("memory_per_node",), mib, profile.memory_per_node),
        (("network", "ports"), port_range, profile.network.ports),
    ):
        try:
            reads(value)
        except DtrainError as error:
            what = error.message.removeprefix(f"{path[-1]}: ").rstrip(".")
            where = f"[{path[0]}] {path[-1]}" if len(path) > 1 else path[-1]
            raise _error(file, _line(text, path), f"{where}: {what}", error.hint, key=path[-1]) from error
    given = profile.slurm.allocation
    if given not in (None, "new", "current") and not re.fullmatch(JOB_NUMBER, given):
        line, hint = _line(text, ("slurm", "allocation")), 'Use "new", "current" or the number of a job.'
        raise _error(file, line, f'[slurm] allocation is "{given}"', hint, key="allocation")


def _below(table: str, message: str) -> str:
    """Return msgspec's message about a table as if the whole file had been converted."""
    body, _, place = message.partition(" - at `$")
    return f"{body} - at `$.{table}{place or '`'}"


def _choices(table: str, kind: type[Struct]) -> Values:
    """Return the keys of a back-end's table that take one of a few values."""
    found: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for key, hint in get_type_hints(kind).items():
        for one in (hint, *get_args(hint)):
            if get_origin(one) is Literal:
                found[table, key] = get_args(one)
    return found


def _refused_value(message: str, choices: Values, text: str, file: str) -> BadProfile:
    what, path, hint = _wrong_value(message, choices)
    return _error(file, _line(text, path), what, hint)


def _wrong_value(message: str, choices: Values) -> tuple[str, tuple[str, ...], str]:
    """Describe the values that a key takes, in TOML's terms.

    Args:
        message: msgspec's, such as "Expected `int | null`, got `str` - at `$.nodes`".
        choices: keys that take one of a few values.

    Returns:
        The error, the path of the key, and what to do.
    """
    body, _, place = message.partition(" - at `$")
    inner = "[" in place
    path = tuple(part for part in re.sub(r"\[.*?\]", "", place.rstrip("`")).split(".") if part)
    values = [str(value) for value in choices.get(path, ())]
    if values:
        name, allowed = path[-1], ", ".join(values)
        given = re.search(r"'(.*)'", body)
        what = f'{name} is "{given[1]}"' if given else f"{name} has a value of the wrong type"
        meant = suggestions.did_you_mean(given[1], values, suggestions.NEAR_KEY) if given else ""
        table = f"[{path[0]}] " if len(path) > 1 else ""
        return f"{table}{what}", path, f"{meant} Use one of {allowed}.".lstrip()
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


def _kind(kind: str) -> str:
    return KINDS.get(kind, f"a {kind}")


def _given(kind: str) -> str:
    return "a number with a fraction" if kind == "float" else _kind(kind)


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


def _error(file: str, line: int | None, what: str, hint: str, **details: Any) -> BadProfile:
    where = f"{file}, line {line}" if line else file
    return BadProfile(f"{where}: {what}.", hint, details={"file": file, "line": line, **details})
