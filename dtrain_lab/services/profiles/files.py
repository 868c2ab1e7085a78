"""Profiles on disk: read, list and write their TOML files."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

from msgspec import Struct

from dtrain_lab.backends import registry
from dtrain_lab.errors import BadProfile, Conflict, DtrainError, Forbidden, NotFound
from dtrain_lab.machine import atomic_files
from dtrain_lab.placement.profile import no_backend, parse
from dtrain_lab.services import paths
from dtrain_lab.services.names import check as check_name
from dtrain_lab.services.policy import backends
from dtrain_lab.services.profiles.template import BEGINNING
from dtrain_lab.text import suggestions
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.site import Error
from dtrain_lab.wire.traits import Traits

LONGEST_NAME = 250
"""Bytes; with the suffix, still a valid file name."""
DEFAULT = "local"
BUILT_IN = {DEFAULT: Profile(name=DEFAULT)}


class Listed(Struct, frozen=True):
    """A profile in a list; an invalid file is listed with its error."""

    name: str
    backend: str | None
    file: str | None
    profile: Profile | None
    error: Error | None = None
    traits: Traits | None = None
    """Traits of its back-end."""


def load(name: str) -> Profile:
    """Load a profile by name.

    Raises:
        NotFound: There is no such file, and no built-in profile of that name.
        BadProfile: The file is invalid.
    """
    path = _path(name)
    if path.exists():
        return _read(path)
    if name in BUILT_IN:
        return BUILT_IN[name]
    hint = suggestions.did_you_mean(name, names()) or f"Known ones: {', '.join(names())}."
    where = f"Profiles are in {paths.profiles()}."
    raise NotFound(f'There is no profile "{name}".', f"{hint} {where}", details={"profile": name})


async def loaded(name: str) -> Profile:
    """Load a profile as `load` does, in a thread: its disk may be slow."""
    return await asyncio.to_thread(load, name)


def text(name: str) -> str:
    """Return a profile's file as text, or a template if it has no file."""
    path = _path(name)
    if path.exists():
        return path.read_text(encoding="utf-8")
    return BEGINNING


def write(name: str, content: str) -> Profile:
    """Save a profile if it is valid.

    Args:
        name: Name of the profile: letters, digits, dots, dashes and underscores.
        content: TOML text.

    Raises:
        BadProfile: The profile is invalid or sets nothing; the file is left unchanged.
    """
    check_name(name, BadProfile, what="a profile's name")
    path = _path(name)
    profile = _parse(content, name, path.name)
    if not tomllib.loads(content):
        raise BadProfile(
            f"{path.name} sets nothing: it would be another name for {DEFAULT}.",
            f'Set at least backend = "{profile.backend}". To remove the profile, delete it.',
            details={"file": path.name, "line": None},
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_files.swap(path, content.encode())
    return profile


def delete(name: str) -> None:
    """Delete a profile's file; clusters and jobs that were started with it go on.

    Raises:
        NotFound: There is no such profile.
        Conflict: The profile is built in.
        Forbidden: The file is an administrator's: this user may not delete it.
    """
    path = own_file(name)
    try:
        path.unlink(missing_ok=True)
    except PermissionError as error:
        raise Forbidden(
            f"You may not delete {path}: {error.strerror}.",
            "Ask whoever owns it, such as an administrator.",
            code="profile_of_others",
        ) from error


def own_file(name: str) -> Path:
    """Return the file of a profile that can be deleted, which may be invalid.

    Raises:
        NotFound: There is no such profile.
        Conflict: The profile is built in.
    """
    path = _path(name)
    if not (path.exists() or path.is_symlink()):
        load(name)
        raise Conflict(
            f"{name} is built in: it has no file that could be deleted.",
            "A profile of that name with other settings replaces it.",
            code="built_in_profile",
        )
    return path


def names() -> list[str]:
    """Return the names of all profiles."""
    return sorted({*BUILT_IN, *(path.stem for path in _files())})


def listing() -> list[Listed]:
    """Return all profiles, invalid ones with their error."""
    listed = []
    for name in names():
        path = paths.profiles() / f"{name}.toml"
        file = str(path) if path.exists() else None
        try:
            profile = load(name)
            traits = backends.backend(profile.backend).traits
        except DtrainError as error:
            listed.append(Listed(name, None, file, None, Error(**error.as_dict())))
        else:
            listed.append(Listed(name, profile.backend, file, profile, traits=traits))
    return listed


def _parse(text: str, name: str, file: str) -> Profile:
    profile = parse(text, name, file, backends.section)
    if not registry.has(profile.backend):
        raise no_backend(profile, text, file, registry.names())
    return profile


def _path(name: str) -> Path:
    if "/" in name or "\0" in name or name.startswith(".") or len(name.encode()) > LONGEST_NAME:
        raise NotFound(f'"{name[:80]}" is not the name of a profile.', f"Known ones: {', '.join(names())}.")
    return paths.profiles() / f"{name}.toml"


def _files() -> list[Path]:
    folder = paths.profiles()
    return sorted(folder.glob("*.toml")) if folder.is_dir() else []


def _read(path: Path) -> Profile:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadProfile(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error
    return _parse(text, path.stem, str(path))
