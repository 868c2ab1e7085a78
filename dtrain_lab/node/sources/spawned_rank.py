"""A rank of a job that its agent has spawned, and what is shared with it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

from dtrain_lab.machine import processes
from dtrain_lab.metrics import ring
from dtrain_lab.node.forkserver.trials import ForkedRank


class SpawnedRank:
    """One rank, and the files and sockets shared with it."""

    def __init__(self, rank: int, local_rank: int) -> None:
        self.rank = rank
        self.local_rank = local_rank
        self.process: asyncio.subprocess.Process | ForkedRank | None = None
        self.metrics = os.memfd_create(f"dtrain-metrics-{rank}")
        os.ftruncate(self.metrics, ring.BYTES)
        self.stacks = os.memfd_create(f"dtrain-stacks-{rank}")
        self.debugger, self.its_debugger = socket.socketpair()
        """Our end of the socket pair to the rank's debugger, and the debugger's end."""
        self.stopped = False
        """Whether we ended it."""
        self.served = False
        """Whether we ended it because the chief that it served has succeeded."""
        self.why = ""
        """Why we ended it; empty if it was ended together with the others."""
        self.began = 0.0
        """When its process began, as `processes.started` returns it; the pid may be reused later."""

    @property
    def pid(self) -> int:
        """Process id of the rank."""
        assert self.process is not None
        return self.process.pid


async def exit_code(process: asyncio.subprocess.Process | ForkedRank) -> int:
    """Wait for a process's exit code. `process.wait()` would also wait for children that hold its streams."""
    await processes.ended(process.pid)
    while process.returncode is None:  # asyncio is about to set it
        await asyncio.sleep(0.01)
    return process.returncode


def signal_all(child: SpawnedRank, number: signal.Signals) -> None:
    """Signal a rank and its children; no effect if none is left, or only those that run as root (sudo).

    Args:
        child: The rank, which leads its session.
        number: The signal.
    """
    processes.signal_group(child.pid, child.began, number)
