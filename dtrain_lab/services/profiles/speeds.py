"""Speeds between the nodes of profiles, as `profile check` has measured them last."""

from __future__ import annotations

from pathlib import Path

import msgspec
from jupyter_core.paths import jupyter_data_dir

from dtrain_lab.machine import durable
from dtrain_lab.services import folders
from dtrain_lab.wire.node import Between, Speed


def keep(profile: str, between: Between) -> None:
    """Keep a measured speed of a profile, in the place of an earlier one."""
    durable.replace(_file(profile), msgspec.json.encode(between))


def of(profile: str) -> Speed | None:
    """Return the speed that was measured last between nodes of a profile; None without any."""
    try:
        return msgspec.json.decode(_file(profile).read_bytes(), type=Between).speed
    except (FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError):
        return None


def _file(profile: str) -> Path:
    return folders.private(Path(jupyter_data_dir()) / "dtrain-lab" / "speeds") / f"{profile}.json"
