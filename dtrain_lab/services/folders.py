"""Where things lie: records and profiles in Jupyter's folders, sockets under a short node-local path."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from jupyter_core.paths import jupyter_config_dir, jupyter_runtime_dir

from dtrain_lab.errors import Forbidden


def profiles() -> Path:
    """Profiles as TOML files."""
    return Path(jupyter_config_dir()) / "dtrain-lab" / "profiles"


def records() -> Path:
    """Records of running heads; only this user can enter it."""
    return private(Path(jupyter_runtime_dir()) / "dtrain-lab")


def sockets() -> Path:
    """Parent of the heads' folders: node-local, and short: a unix socket's path may have 107 bytes."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isdir(base) and len(base) < 40:
        return private(Path(base) / "dtrain-lab")
    return private(
        Path(tempfile.gettempdir() if len(tempfile.gettempdir()) < 40 else "/tmp")
        / f"dtrain-lab-{os.getuid()}"
    )


def private(path: Path) -> Path:
    """A folder that only this user can enter; made if it is not there.

    Raises:
        Forbidden: it is a link, belongs to somebody else, or others may enter it and that can't be changed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise Forbidden(
            f"{path} is not a folder of yours.", "Remove it, or set XDG_RUNTIME_DIR to a folder of yours."
        )
    if found.st_mode & 0o077:
        path.chmod(0o700)
    return path
