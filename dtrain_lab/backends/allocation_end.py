"""When the scheduler ends the job that this process runs in, whichever back-end has started it.

A cluster on this machine may run inside an allocation, too. Imports only what a head needs.
"""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint
from typing import Protocol

OURS = {"SLURM_JOB_ID": "dtrain_lab.backends.slurm.allocation_end:AllocationEnd"}
"""Variable that a scheduler sets in its jobs → class that asks this scheduler."""


class AllocationEnd(Protocol):
    """When a scheduler ends its job, and with it what runs in it."""

    at: float | None
    """Seconds since 1970; None without a time limit."""
    taken: str
    """Why it ends sooner; empty if it does not."""

    async def poll(self) -> None:
        """Ask the scheduler; values without an answer stay unchanged."""


def of_this_process() -> AllocationEnd | None:
    """Return the end of the job that this process runs in; None outside of one."""
    for variable, asks in OURS.items():
        if os.environ.get(variable):
            allocation_end: AllocationEnd = EntryPoint(variable, asks, "").load()()
            return allocation_end
    return None
