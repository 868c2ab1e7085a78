"""Limits and out-of-memory kills of this process's control group (Linux cgroup versions 1 and 2)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from dtrain_lab.text.units import size_text

ROOT = Path("/sys/fs/cgroup")
NONE_FROM = 1 << 60
"""Bytes: version 1 writes "no limit" as a number at least this large."""


def folders(controller: str, root: Path = ROOT, groups: str | None = None) -> list[Path]:
    """Folders of this process's group, from its own up to the root.

    A container may see its own group as the root; folders that it does not see are left out.

    Args:
        controller: "cpu" or "memory".
        root: Mount point of the cgroup file system.
        groups: Text of `/proc/self/cgroup`; read by default.
    """
    text = Path("/proc/self/cgroup").read_text() if groups is None else groups
    candidates = []
    for line in text.splitlines():
        number, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            base = root / controller
        elif number == "0":
            base = root if (root / "cgroup.controllers").exists() else root / "unified"
        else:
            continue
        below = Path(path.lstrip("/"))
        candidates += [base / part for part in (below, *below.parents)]
    return list(dict.fromkeys(folder for folder in candidates if folder.is_dir()))


def memory_limit(places: list[Path]) -> int | None:
    """Memory limit in bytes, shared with the group's other processes; None if there is none."""
    limits = [
        int(text)
        for folder in places
        for name in ("memory.max", "memory.limit_in_bytes")
        if (text := _read(folder / name)).isdigit() and int(text) < NONE_FROM
    ]
    return min(limits, default=None)


def cpu_quota(places: list[Path]) -> float | None:
    """CPU quota in cores; None if there is none."""
    return min((q for folder in places for q in _quotas(folder)), default=None)


def oom_kills(places: list[Path], vmstat: Path = Path("/proc/vmstat")) -> int:
    """Number of processes killed by the kernel for lack of memory: in the group, else on this machine.

    Args:
        places: The group's folders, as `folders` returns them.
        vmstat: The kernel's counters, read if the group counts none.
    """
    for folder in places:
        for name in ("memory.events", "memory.oom_control"):
            counted = _field(_read(folder / name), "oom_kill")
            if counted is not None:
                return counted
    return _field(_read(vmstat), "oom_kill") or 0


class OutOfMemory:
    """Determines whether a killed process was killed for lack of memory."""

    def __init__(self) -> None:
        self._places = folders("memory")
        self._before = oom_kills(self._places)

    def how(self, code: int) -> str:
        """Description of how a process that has just ended was killed; empty if memory was not the reason.

        Args:
            code: Exit code of the process; negative if a signal ended it.
        """
        if code != -signal.SIGKILL:
            return ""
        now = oom_kills(self._places)
        if now == self._before:
            return ""
        self._before = now
        limit = memory_limit(self._places)
        has = f" (its node's limit is {size_text(limit)})" if limit is not None else ""
        by_scheduler = "SLURM_JOB_ID" in os.environ
        less = "use smaller batches or fewer ranks and DataLoader workers"
        more = "raise memory_per_node" if by_scheduler else less
        return f"killed by the kernel, out of memory{has}; {more}"


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # a file of the other version, or not readable for us
        return ""


def _field(text: str, name: str) -> int | None:
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == name:
            return int(words[1])
    return None


def _quotas(folder: Path) -> Iterator[float]:
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        yield int(quota) / int(period)
    quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    if quota.isdigit() and period.isdigit():  # "no quota" is written as -1
        yield int(quota) / int(period)
