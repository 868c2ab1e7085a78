"""Where things lie: records and profiles in Jupyter's folders, sockets under a short node-local path."""

from __future__ import annotations

from pathlib import Path

from jupyter_core.paths import jupyter_config_dir, jupyter_runtime_dir

from dtrain_lab.machine import private, sockets

__all__ = ["private", "profiles", "records", "sockets"]


def profiles() -> Path:
    """Profiles as TOML files."""
    return Path(jupyter_config_dir()) / "dtrain-lab" / "profiles"


def records() -> Path:
    """Records of running heads; only this user can enter it."""
    return private(Path(jupyter_runtime_dir()) / "dtrain-lab")
