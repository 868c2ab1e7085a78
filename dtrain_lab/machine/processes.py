"""Which process it is: the number of one that has ended is given to another some day."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil

APART_S = 1.0
LOOK_S = 0.02


def started(pid: int | None = None) -> float:
    """When a process began, by a clock that nobody sets.

    `psutil.Process.create_time` moves with the clock of this host: after a laptop's sleep or a correction by
    NTP, every process would be taken for another one.

    Args:
        pid: of the process; this one where left out.

    Returns:
        On Linux seconds since this host booted (proc_pid_stat(5), field 22); elsewhere seconds since 1970.

    Raises:
        psutil.NoSuchProcess: it has ended.
    """
    pid = pid or os.getpid()
    if not psutil.LINUX:
        return float(psutil.Process(pid).create_time())
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    # the second field is a name, in which anything may stand
    ticks = stat.rpartition(b")")[2].split()[STARTTIME]
    return int(ticks) / os.sysconf("SC_CLK_TCK")


STARTTIME = 19
"""Where it stands, counted from the first field after the name."""


def same(pid: int, began: float) -> psutil.Process | None:
    """The process of this number that began then, while it runs; None where it has ended."""
    try:
        process = psutil.Process(pid)
        alive = abs(started(pid) - began) < APART_S and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if alive else None


def gone(pid: int, began: float, within_s: float) -> bool:
    """Wait for a process to end; that nobody has asked for its exit status yet does not matter."""
    until = time.monotonic() + within_s
    while same(pid, began) is not None:
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_S)
    return True
