"""Profiles on disk."""

from __future__ import annotations

import difflib
from pathlib import Path

from msgspec import Struct

from dtrain_lab.core import profile as core_profile
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.site import Error
from dtrain_lab.errors import BadProfile, DtrainError, NotFound
from dtrain_lab.services import folders

BUILT_IN = {"local": Profile(name="local")}


class Listed(Struct, frozen=True):
    """A profile as a list shows it; a bad file is listed with its error."""

    name: str
    backend: str | None
    file: str | None
    profile: Profile | None
    error: Error | None = None


def load(name: str) -> Profile:
    """A profile by name.

    Raises:
        NotFound: no file and not built in.
        BadProfile: the file can't be used.
    """
    path = folders.profiles() / f"{name}.toml"
    if "/" in name or name.startswith("."):
        raise NotFound(f'"{name}" is no name of a profile.', f"There are: {', '.join(names())}.")
    if path.exists():
        return _read(path)
    if name in BUILT_IN:
        return BUILT_IN[name]
    near = difflib.get_close_matches(name, names(), n=1)
    hint = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(names())}."
    raise NotFound(f'There is no profile "{name}".', f"{hint} Profiles lie in {folders.profiles()}.")


def names() -> list[str]:
    """Names of all profiles."""
    return sorted({*BUILT_IN, *(path.stem for path in _files())})


def listing() -> list[Listed]:
    """All profiles, bad ones with their error."""
    found = []
    for name in names():
        path = folders.profiles() / f"{name}.toml"
        file = str(path) if path.exists() else None
        try:
            profile = load(name)
        except DtrainError as error:
            found.append(Listed(name, None, file, None, Error(**error.as_dict())))
        else:
            found.append(Listed(name, profile.backend, file, profile))
    return found


def _files() -> list[Path]:
    folder = folders.profiles()
    return sorted(folder.glob("*.toml")) if folder.is_dir() else []


def _read(path: Path) -> Profile:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadProfile(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error
    return core_profile.parse(text, path.stem, str(path))
