"""Free disk space and remaining quota of a folder, parsed from `df`, `quota` and `lfs quota`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.quota import FreeSpace
from dtrain_lab.wire.kinds import Severity

LITTLE = 1 << 30
"""Warn at this many bytes or fewer; checkpoints of a small model need as much."""
FEW = 1000
"""Warn at this many files or fewer; a job writes some hundreds, and more with every checkpoint."""
PART = "--- quota ---"
SCRIPT = f"""while [ ! -d "$1" ]; do set -- "$(dirname -- "$1")"; done
LC_ALL=C df -Pk -- "$1" | tail -n 1
echo "{PART}"; LC_ALL=C timeout 5 quota -w -p --show-mntpoint --hide-device 2> /dev/null
echo "{PART}"; LC_ALL=C timeout 5 lfs quota -q -u "$(id -un)" "$1" 2> /dev/null
true"""
"""Run with a folder as `$1`. Both quota tools may be missing, and a quota server may not answer."""


DISK = re.compile(r"\d+\s+\d+\s+(?P<free>\d+)\s+\S+\s+(?P<mount>/.*)$", re.MULTILINE)


def read(text: str, folder: str) -> FreeSpace:
    """Parse the output of `SCRIPT` for a folder.

    Args:
        text: The output.
        folder: Path of the folder, as it is displayed.

    Returns:
        Free bytes and what is left of the quota, in bytes and files; None for what is unknown.
    """
    disk, *quotas = text.split(PART)
    match = DISK.search(disk)
    if match is None:
        return FreeSpace(folder)
    for numbers in _quotas(match["mount"], *quotas):
        left = _left(*numbers[:3])
        quota_bytes = None if left is None else left << 10
        return FreeSpace(folder, int(match["free"]) << 10, quota_bytes, _left(*numbers[4:7]))
    return FreeSpace(folder, int(match["free"]) << 10)


def _quotas(mount: str, quota: str = "", lustre: str = "") -> Iterator[list[str]]:
    """Yield used, soft limit, hard limit and grace time, first of KiB and then of files."""
    for line in quota.splitlines():
        name, *numbers = line.strip().rsplit(None, 8) or [""]  # a name may have spaces
        if len(numbers) == 8 and name == mount:
            yield numbers
    if len(words := lustre.split()) > 8:  # one file system only; a long name is on a line of its own
        yield words[-8:]


def sentence(space: FreeSpace) -> str:
    """Describe free space and quota for a terminal; empty if nothing is known."""
    parts = []
    if space.free_bytes is not None:
        parts.append(f"{space.free_bytes / (1 << 30):,.1f} GiB are free in {space.folder}")
    if space.quota_bytes is not None:
        parts.append(f"your quota leaves {space.quota_bytes / (1 << 30):,.1f} GiB")
    if space.quota_files is not None:
        parts.append(f"your quota leaves {space.quota_files:,} files")
    return "; ".join(parts) + "." if parts else ""


def _left(used: str, soft: str, hard: str) -> int | None:
    """Return what a quota leaves; None for no limit.

    The hard limit counts if it is set, since the soft one may be exceeded for a while. `used` has a star if
    the soft limit is exceeded; a limit of 0 is no limit.
    """
    numbers = [word.rstrip("*") for word in (used, soft, hard)]
    if not all(number.isdecimal() for number in numbers):
        return None
    taken, first, last = map(int, numbers)
    limit = last or first
    return max(0, limit - taken) if limit else None


def finding(space: FreeSpace, needs: int) -> Finding | None:
    """Check whether a folder has enough space for a job.

    Args:
        space: free space and quota of the job's folder.
        needs: bytes that the job writes before it starts.

    Returns:
        A problem or a warning; None if there is enough space.
    """
    where = space.folder
    severity: Severity
    limits = [
        (
            space.quota_bytes,
            f"Your quota leaves %s where {where} is.",
            "Delete what you no longer need there",
        ),
        (space.free_bytes, f"%s are free in {where}.", "Make room"),
    ]
    limited = [(left, text, fix) for left, text, fix in limits if left is not None]
    if limited:
        left, text, fix = min(limited)
        if left <= LITTLE:
            severity = "problem" if left < needs else "warning"
            fix = f"{fix}, or set workdir in the profile to another disk."
            return Finding(severity, "little_room", text % f"{left >> 20} MiB", fix, field="profile")
    if space.quota_files is not None and space.quota_files <= FEW:
        text = f"Your quota leaves {space.quota_files} files where {where} is."
        fix = "Delete files there, or set workdir in the profile to another disk."
        severity = "warning" if space.quota_files else "problem"
        return Finding(severity, "little_room", text, fix, field="profile")
    return None
