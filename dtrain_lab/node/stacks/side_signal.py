"""Signals a process without interrupting a system call of its main thread."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from dtrain_lab.machine import processes

_libc = ctypes.CDLL(None, use_errno=True)


def signal_beside(pid: int, began: float, number: int) -> bool:
    """Send a signal to a thread of a process other than its main one, if there is one.

    On the main thread it would cut short a call in C, such as `sleep`, or a `read` that is not restarted. A
    main thread that is running gets the signal itself: its state must not change while the handler reads
    it. A process that does not catch the signal yet would die of it, so it gets none.

    Args:
        pid: Id of the process.
        began: When it started, as `processes.started` returns it: another process may have its id by now.
        number: Number of the signal.

    Returns:
        Whether the signal was sent.

    Raises:
        ProcessLookupError: There is no such process.
    """
    try:
        threads = sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    takers = (t for t in threads if t != pid and _in_mask(pid, t, "SigBlk", number) is False)
    beside = next(takers, None)
    if processes.same(pid, began) is None:
        raise ProcessLookupError(pid)
    if not _in_mask(pid, pid, "SigCgt", number):
        return False
    if beside is None or not hasattr(_libc, "tgkill"):
        os.kill(pid, number)
    elif _libc.tgkill(pid, pid if _runs(pid) else beside, number) != 0:
        raise ProcessLookupError(pid)
    return True


def _in_mask(pid: int, thread: int, mask: str, number: int) -> bool | None:
    """Whether a signal is in a thread's mask; None if the thread has just ended."""
    try:
        status = Path(f"/proc/{pid}/task/{thread}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    bits = next(line.split()[1] for line in status.splitlines() if line.startswith(f"{mask}:"))
    return bool(int(bits, 16) >> (number - 1) & 1)


def _runs(pid: int) -> bool:
    """Whether the main thread of a process runs or is runnable."""
    try:
        stat = Path(f"/proc/{pid}/task/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] == "R"  # the name before it may contain blanks and parentheses
