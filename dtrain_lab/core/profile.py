"""Profiles: a named place to run, as a TOML file that a person can edit."""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import Any, cast, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.core.kinds import BackendKind, EnvironmentKind, HangAction
from dtrain_lab.errors import BadProfile


class Environment(Struct, frozen=True, forbid_unknown_fields=True):
    """Where Python comes from on the nodes. `secrets`: variables whose values lie in files there."""

    kind: EnvironmentKind = "current"
    path: str | None = None
    setup: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    secrets: dict[str, str] = {}


class Network(Struct, frozen=True, forbid_unknown_fields=True):
    """Which interface and which ports our sockets and the collectives use."""

    interface: str | None = None
    ports: str | None = None


class Ssh(Struct, frozen=True, forbid_unknown_fields=True):
    """Hosts of the back-end `ssh`, or the login node of `slurm`."""

    hosts: tuple[str, ...] = ()
    login: str | None = None


class Slurm(Struct, frozen=True, forbid_unknown_fields=True):
    """What the scheduler is asked for."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    gres: str | None = None
    memory_per_cpu: str | None = None
    time: str | None = None
    launcher: str | None = None
    allocation: str | None = None
    options: tuple[str, ...] = ()


class Watch(Struct, frozen=True, forbid_unknown_fields=True):
    """What the monitor does. `probe`: a step now and then without overlap. `guard`: ranks compare their next
    collective before it runs. `stuck_after_s`: a collective may stand so long before it is a hang; then
    `on_hang`."""

    probe: bool = True
    guard: bool = False
    stuck_after_s: float = 10.0
    on_hang: HangAction = "show"


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """A named place to run. `name` is the file's name and no key of the file."""

    backend: BackendKind = "local"
    nodes: int | None = None
    ranks_per_node: int | None = None
    cpus_per_rank: int | None = None
    memory_per_node: str | None = None
    workdir: str | None = None
    scratch: str | None = None
    monitor: bool = True
    environment: Environment = Environment()
    network: Network = Network()
    ssh: Ssh = Ssh()
    slurm: Slurm = Slurm()
    watch: Watch = Watch()
    name: str = "local"


def environment_of(text: str, like: Environment) -> Environment:
    """The environment of a request: "current", or "kind:path".

    Args:
        text: as a person gave it.
        like: the profile's, whose setup and variables stay.

    Raises:
        BadProfile: there is no such kind, or its path is missing.
    """
    kind, _, path = text.partition(":")
    kinds = get_args(EnvironmentKind)
    if kind not in kinds or (kind not in ("current", "modules") and not path):
        raise BadProfile(
            f'"{text}" is no environment.',
            f'Write it as "current", or as kind:path, with a kind of: {", ".join(kinds[1:])}.',
            code="bad_environment",
            details={"field": "environment"},
        )
    return replace(like, kind=cast(EnvironmentKind, kind), path=path or None)


LEAST_STUCK_S, MOST_STUCK_S = 1.0, 86_400.0
TABLES: dict[str, type[Struct]] = {
    "environment": Environment,
    "network": Network,
    "ssh": Ssh,
    "slurm": Slurm,
    "watch": Watch,
}


def parse(text: str, name: str, file: str) -> Profile:
    """Read a profile.

    Args:
        text: the TOML.
        name: the profile's name.
        file: the path that an error names.

    Raises:
        BadProfile: not TOML, an unknown key, or a value of the wrong kind; the error's details carry
            `file`, `line`, `key` and the nearest known key.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise _error(file, int(line[1]) if line else None, f"{error}", "Mend the TOML there.") from error
    _refuse_unknown(data, Profile, (), text, file)
    for table, kind in TABLES.items():
        if isinstance(data.get(table), dict):
            _refuse_unknown(data[table], kind, (table,), text, file)
    try:
        profile = msgspec.convert(data, Profile)
    except msgspec.ValidationError as error:
        message, path = _split(str(error))
        raise _error(
            file,
            _line(text, path),
            f"{'.'.join(path)}: {message}" if path else message,
            _expected(path),
        ) from error
    _refuse_sizes(profile, text, file)
    return msgspec.structs.replace(profile, name=name)


def _refuse_unknown(
    table: dict[str, Any], kind: type[Struct], path: tuple[str, ...], text: str, file: str
) -> None:
    known = [f.name for f in msgspec.structs.fields(kind) if not (kind is Profile and f.name == "name")]
    for key in table:
        if key in known:
            continue
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        where = f"[{path[0]}] {key}" if path else key
        hint = f'Did you mean "{near[0]}"?' if near else f"Known keys: {', '.join(known)}."
        raise _error(
            file,
            _line(text, (*path, key)),
            f'unknown key "{where}"',
            hint,
            key=key,
            near=near[0] if near else None,
        )


def _refuse_sizes(profile: Profile, text: str, file: str) -> None:
    for key in ("nodes", "ranks_per_node", "cpus_per_rank"):
        value = getattr(profile, key)
        if value is not None and value < 1:
            raise _error(file, _line(text, (key,)), f"{key} is {value}", "It has to be 1 or more.", key=key)
    after = profile.watch.stuck_after_s
    if not LEAST_STUCK_S <= after <= MOST_STUCK_S:
        key, line = "stuck_after_s", _line(text, ("watch", "stuck_after_s"))
        hint = f"It has to be {LEAST_STUCK_S:g} to {MOST_STUCK_S:g} seconds."
        raise _error(file, line, f"[watch] {key} is {after:g}", hint, key=key)


def _expected(path: tuple[str, ...]) -> str:
    kinds = {
        ("backend",): get_args(BackendKind),
        ("environment", "kind"): get_args(EnvironmentKind),
        ("watch", "on_hang"): get_args(HangAction),
    }
    values = kinds.get(path)
    return f"Use one of {', '.join(values)}." if values else "Mend the value there."


def _split(message: str) -> tuple[str, tuple[str, ...]]:
    """msgspec's "… - at `$.slurm.time`" taken apart."""
    body, _, path = message.partition(" - at `$")
    return body, tuple(p for p in path.rstrip("`").split(".") if p)


def _line(text: str, path: tuple[str, ...]) -> int | None:
    """The line, from 1, where a key stands; tomllib keeps none."""
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
