"""Kind of the file system that a path is on."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

DISKS = {
    "ext2",
    "ext3",
    "ext4",
    "xfs",
    "btrfs",
    "zfs",
    "f2fs",
    "jfs",
    "reiserfs",
    "bcachefs",
    "apfs",
    "hfs",
    "ufs",
}
MEMORY = {"tmpfs", "ramfs", "overlay", "overlayfs", "aufs"}
STICKS = {"vfat", "exfat", "ntfs", "ntfs3", "fuseblk"}
LOCAL = DISKS | MEMORY | STICKS


def is_local(path: Path) -> bool:
    """Whether a path's file system is local to this machine; unknown kinds count as shared."""
    place = os.path.realpath(path)
    mounts = [p for p in psutil.disk_partitions(all=True) if _below(place, p.mountpoint)]
    # of two mounts on the same path, the later one is visible
    kind = max(enumerate(mounts), key=lambda item: (len(item[1].mountpoint), item[0]))[1] if mounts else None
    return kind is not None and kind.fstype.lower() in LOCAL


def _below(path: str, mount: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")
