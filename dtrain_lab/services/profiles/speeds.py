"""Speeds between the nodes of profiles, as `profile check` has measured them last."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from jupyter_core.paths import jupyter_data_dir
from msgspec import Struct

from dtrain_lab.machine import durable
from dtrain_lab.services import folders
from dtrain_lab.wire.node import Between, MeasuredSpeed
from dtrain_lab.wire.profile import Profile


class Measured(Struct, frozen=True):
    """A measured speed. `at`: seconds since 1970; `network`: what the profile said of hosts and interface."""

    at: float
    network: str
    between: Between


def keep(profile: Profile, between: Between) -> None:
    """Keep a measured speed of a profile, in the place of an earlier one."""
    durable.replace(_file(profile), msgspec.json.encode(Measured(time.time(), _network(profile), between)))


def of(profile: Profile) -> MeasuredSpeed | None:
    """Return the speed that was measured last between nodes of a profile.

    None without any, and where the profile names other hosts or another interface since then.
    """
    try:
        kept = msgspec.json.decode(_file(profile).read_bytes(), type=Measured)
    except (FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError):
        return None
    if kept.network != _network(profile):
        return None
    return MeasuredSpeed(kept.between.speed.round_trip_s, kept.between.speed.bytes_per_s, kept.at)


def _network(profile: Profile) -> str:
    return repr((profile.backend, profile.ssh, profile.slurm.partition, profile.network.interface))


def _file(profile: Profile) -> Path:
    folder = folders.private(Path(jupyter_data_dir()) / "dtrain-lab" / "speeds")
    return folder / f"{profile.name}.json"
