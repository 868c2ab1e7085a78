"""Identifies processes across pid reuse: by pid, start time, and boot with PID namespace."""

from __future__ import annotations

import ctypes
import os
import socket
import time
from functools import cache
from pathlib import Path

import psutil

APART_S = 1.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)
POLL_S = 0.02
FOREIGN = 1
"""Pids up to this one are never ours: 0 would mean our own process group, 1 is init."""


def started(pid: int | None = None) -> float:
    """When a process started, by a clock that is never adjusted.

    `psutil.Process.create_time` moves with the clock of this host: after a laptop's sleep or a correction by
    NTP, every process would be taken for another one.

    Args:
        pid: Id of the process; by default this one.

    Returns:
        On Linux seconds since this host booted (proc_pid_stat(5), field 22); elsewhere seconds since 1970.

    Raises:
        psutil.NoSuchProcess: The process has ended.
    """
    pid = pid or os.getpid()
    if not psutil.LINUX:
        return float(psutil.Process(pid).create_time())
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    # the second field is the process name, which may contain anything
    ticks = stat.rpartition(b")")[2].split()[STARTTIME]
    return int(ticks) / os.sysconf("SC_CLK_TCK")


@cache
def system() -> str:
    """Id of the running system in which this process's pids are valid: boot id and PID namespace.

    Two hosts with a shared home may have the same name, and one host may run two containers: where this id
    differs, a pid has no meaning here.
    """
    if not psutil.LINUX:
        return f"{socket.gethostname()} {psutil.boot_time():.0f}"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {os.readlink('/proc/self/ns/pid')}"


def began_at(pid: int) -> float:
    """When a process began, as `started` returns it; 0 if it has already ended."""
    try:
        return started(pid)
    except psutil.NoSuchProcess:
        return 0.0


def is_here(system_of: str) -> bool:
    """Whether pids of a system are valid here; an empty id was written by an older version."""
    return system_of in ("", system())


def has_ended(system_of: str) -> bool:
    """Whether a system of this machine is known to have ended, because the machine has rebooted since.

    Only for files in the machine's own folders, since another host may have the same name.
    """
    return bool(system_of) and system_of.partition(" ")[0] != system().partition(" ")[0]


def end_with_parent(number: int) -> None:
    """Make the kernel send this process a signal when its parent ends (Linux only; no effect elsewhere).

    Args:
        number: Number of the signal; 0 for none from now on.
    """
    _prctl(PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Make this process the parent of all orphans below it, instead of init (Linux only)."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if hasattr(_libc, "prctl"):
        _libc.prctl(option, value)


STARTTIME = 19
"""Index of the start time among the fields after the process name."""


def same(pid: int, began: float) -> psutil.Process | None:
    """The process with this pid and start time; None if it has ended or is a zombie.

    Args:
        pid: Id of the process.
        began: When it started, as `started` returns it.
    """
    if pid <= FOREIGN:
        return None
    try:
        process = psutil.Process(pid)
        alive = abs(started(pid) - began) < APART_S and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if alive else None


def signal_process(pid: int, began: float, number: int) -> bool:
    """Send a signal to a process that is not our child, and whose pid may have been reused.

    Args:
        pid: Id of the process.
        began: When it started, as `started` returns it.
        number: Number of the signal.

    Returns:
        Whether the signal was sent; False if the process has ended or is another user's.
    """
    process = same(pid, began)
    try:
        if process is None or process.uids().real != os.getuid():
            return False
        process.send_signal(number)  # checks again that the pid still belongs to this process
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
    return True


def signal_group(leader: int, began: float, number: int) -> bool:
    """Send a signal to a process group, whose leader may have ended before its members.

    The kernel does not reuse a group's id while a member lives or its leader is not reaped.

    Args:
        leader: Pid of the process that made the group.
        began: When the leader started, as `started` returns it.
        number: Number of the signal.

    Returns:
        Whether the signal was sent; False if the group is gone, its id belongs to another process by now,
        or only processes of another user are left in it (sudo).
    """
    if leader <= FOREIGN:
        return False
    try:
        if abs(started(leader) - began) >= APART_S:
            return False
        if os.stat(f"/proc/{leader}").st_uid != os.getuid():
            return False
    except (psutil.NoSuchProcess, FileNotFoundError):
        pass  # its members may live
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def ended(pid: int) -> None:
    """Wait for a child of this process to end, whether it is reaped or not."""
    import asyncio  # late: ranks of jobs import this module, and need none

    done = asyncio.Event()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, done.set)
    try:
        await done.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def gone(pid: int, began: float, within_s: float) -> bool:
    """Wait for a process to end; a zombie counts as ended.

    Args:
        pid: Id of the process.
        began: When it started, as `started` returns it.
        within_s: Seconds to wait.

    Returns:
        Whether it has ended.
    """
    until = time.monotonic() + within_s
    while same(pid, began) is not None:
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True
