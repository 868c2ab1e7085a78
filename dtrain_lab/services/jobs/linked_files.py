"""Files that are too large to pack: a job on this machine links to them."""

from __future__ import annotations

from pathlib import Path

from dtrain_lab.backends.hosts.local_transport import private_folders
from dtrain_lab.errors import Unreachable


def link_rest(source: Path, code: Path, left: tuple[str, ...]) -> None:
    """Symlink files that were too large to pack, instead of copying them; on this machine only.

    Args:
        source: The notebook's folder.
        code: The job's code folder.
        left: Relative paths of the files.

    Raises:
        Unreachable: The job's folder can't be written.
    """
    try:
        private_folders(code)
        for path in left:
            target = code / path
            private_folders(target.parent)
            if not target.is_symlink():
                target.symlink_to(source / path)
    except OSError as error:
        raise Unreachable(
            f"{code} can't be written: {error.strerror}.",
            "Set workdir in the profile to a folder of yours.",
        ) from error
