"""The latest speeds between the nodes of profiles, measured by `profile check`."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from jupyter_core.paths import jupyter_data_dir
from msgspec import Struct

from dtrain_lab.machine import atomic_files
from dtrain_lab.services import paths
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.node_check import Between, MeasuredSpeed
from dtrain_lab.wire.profile import Profile


class Measured(Struct, frozen=True):
    """A measured speed. `at`: seconds since 1970; `network`: the profile's hosts and interface then."""

    at: float
    network: str
    between: Between


def save(profile: Profile, between: Between) -> None:
    """Store a measured speed; it replaces an earlier one.

    Args:
        profile: The profile whose nodes were measured.
        between: Latency and bandwidth between two of its nodes.
    """
    atomic_files.replace(
        _file(profile), msgspec.json.encode(Measured(time.time(), _network(profile), between))
    )


def of(profile: Profile) -> MeasuredSpeed | None:
    """Return the latest measured speed between nodes of a profile.

    None if there is none, or if the profile's hosts or interface have changed since.
    """
    try:
        stored = msgspec.json.decode(_file(profile).read_bytes(), type=Measured)
    except (FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError):
        return None
    if stored.network != _network(profile):
        return None
    return MeasuredSpeed(stored.between.speed.round_trip_s, stored.between.speed.bytes_per_s, stored.at)


def _network(profile: Profile) -> str:
    where = backends.backend(profile.backend).where(profile)
    return repr((profile.backend, where, profile.network.interface))


def _file(profile: Profile) -> Path:
    folder = paths.private(Path(jupyter_data_dir()) / "dtrain-lab" / "speeds")
    return folder / f"{profile.name}.json"
