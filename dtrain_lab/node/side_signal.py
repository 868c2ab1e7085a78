"""A signal for a process that leaves its main thread alone."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)


def signal_beside(pid: int, number: int) -> None:
    """Send a signal to a thread of a process that is not its main one, where there is one.

    A call in C that the main thread is in would else be cut short: `sleep`, or a `read` that does not begin
    again.

    Raises:
        ProcessLookupError: there is no such process.
    """
    try:
        threads = sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    beside = next((thread for thread in threads if thread != pid and not _blocks(pid, thread, number)), None)
    if beside is None or not hasattr(_libc, "tgkill"):
        os.kill(pid, number)
    elif _libc.tgkill(pid, beside, number) != 0:
        raise ProcessLookupError(pid)


def _blocks(pid: int, thread: int, number: int) -> bool:
    """Whether a thread takes no such signal, as those of ZeroMQ take none."""
    try:
        status = Path(f"/proc/{pid}/task/{thread}/status").read_text()
    except FileNotFoundError:  # it has just ended
        return True
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:"))
    return bool(int(mask, 16) >> (number - 1) & 1)
