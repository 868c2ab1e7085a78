"""The process group that calls of `dt` use; created if the launcher left that to the script."""

from __future__ import annotations

import atexit
import os

from dtrain_lab.errors import Conflict
from dtrain_lab.jobs.environment_variables import of_other_framework


def join() -> bool:
    """Make sure that several ranks have a process group; returns False for a single process.

    In a job, a notebook that imports its training from elsewhere may have no process group yet.

    Raises:
        Conflict: ranks of another framework have no such group.
    """
    if of_other_framework():
        if int(os.environ.get("WORLD_SIZE", "1")) < 2:
            return False
        raise Conflict(
            "Ranks wait for each other through torch, and another framework trains in this job.",
            "Save with the framework's own checkpoints, into dt.checkpoint_dir().",
            code="no_torch_group",
        )
    import torch.distributed as dist

    if not dist.is_available():
        return False
    if not dist.is_initialized():
        if int(os.environ.get("WORLD_SIZE", "1")) < 2 or "MASTER_ADDR" not in os.environ:
            return False
        dist.init_process_group("gloo")
        atexit.register(_leave)
    return True


def _leave() -> None:
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()
