"""A signal for a process that leaves a call of its main thread alone."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)


def signal_beside(pid: int, number: int) -> bool:
    """Send a signal to a thread of a process that is not its main one, where there is one.

    A call in C that the main thread is in would else be cut short: `sleep`, or a `read` that does not begin
    again. A main thread that runs gets it itself: what its handler reads of it must not change meanwhile.
    A process that does not catch the signal yet would die of it: it gets none.

    Returns:
        Whether it was sent.

    Raises:
        ProcessLookupError: there is no such process.
    """
    try:
        threads = sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    takers = (t for t in threads if t != pid and _in_mask(pid, t, "SigBlk", number) is False)
    beside = next(takers, None)
    if not _in_mask(pid, pid, "SigCgt", number):
        return False
    if beside is None or not hasattr(_libc, "tgkill"):
        os.kill(pid, number)
    elif _libc.tgkill(pid, pid if _runs(pid) else beside, number) != 0:
        raise ProcessLookupError(pid)
    return True


def _in_mask(pid: int, thread: int, mask: str, number: int) -> bool | None:
    """Whether a signal is in a mask of a thread; None where the thread has just ended."""
    try:
        status = Path(f"/proc/{pid}/task/{thread}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    bits = next(line.split()[1] for line in status.splitlines() if line.startswith(f"{mask}:"))
    return bool(int(bits, 16) >> (number - 1) & 1)


def _runs(pid: int) -> bool:
    """Whether the main thread of a process is on a processor, or waits for one."""
    try:
        stat = Path(f"/proc/{pid}/task/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] == "R"  # the name before it may have blanks and brackets
