"""Ids and names of sweeps, from their folders: also of those that another version wrote."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
from jupyter_core.paths import jupyter_data_dir

from dtrain_lab.services import paths
from dtrain_lab.wire.sweeps import SWEEP_ENDED, SweepState

RECORD = "sweep.json"


class SweepIdentity(NamedTuple):
    """Facts about a sweep from a record of any version. `state`: None if unknown."""

    id: str
    name: str
    state: str | None

    @property
    def ended(self) -> bool | None:
        """Whether it has ended; None if unknown."""
        return None if self.state is None else self.state in SWEEP_ENDED

    def is_called(self, name: str) -> bool:
        """Whether this id, prefix of an id, or name refers to the sweep."""
        return bool(name) and (name in (self.id, self.name) or (len(name) > 3 and self.id.startswith(name)))


def base() -> Path:
    """Return the folder of all sweeps' folders; only this user can enter it."""
    return paths.private(Path(jupyter_data_dir()) / "dtrain-lab" / "sweeps")


def all_of() -> Iterator[Path]:
    """Yield the folders of all sweeps."""
    yield from (path.parent for path in base().glob(f"*/{RECORD}"))


def active() -> dict[str, SweepState]:
    """Return the states of the sweeps that have not ended, by id; not of those whose state is unknown."""
    known = map(identify, all_of())
    states: tuple[SweepState, ...] = ("running", "stopping")
    return {one.id: state for one in known for state in states if one.state == state}


def is_sweep(name: str) -> bool:
    """Whether an id, a prefix of an id, or a name refers to a sweep, whatever version wrote it."""
    return any(identify(folder).is_called(name) for folder in all_of())


def identify(folder: Path) -> SweepIdentity:
    """Return id and name of a sweep, whatever version wrote it; each version of a record is read once."""
    try:
        found = (folder / RECORD).stat()
    except OSError:
        return SweepIdentity(folder.name, "", None)
    return _read_identity(folder, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4096)
def _read_identity(folder: Path, _mtime_ns: int, _size: int) -> SweepIdentity:
    try:
        said = msgspec.json.decode((folder / RECORD).read_bytes())
    except (OSError, msgspec.DecodeError):
        said = None
    name, state = (said.get("name"), said.get("state")) if isinstance(said, dict) else (None, None)
    state = state if isinstance(state, str) else None
    return SweepIdentity(folder.name, name if isinstance(name, str) else "", state)
