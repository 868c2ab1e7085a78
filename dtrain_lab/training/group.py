"""The process group that calls of `dt` use, made where the launcher left that to the script."""

from __future__ import annotations

import atexit
import os


def join() -> bool:
    """Whether there is a process group; makes one where several ranks were started and none of them has one.

    In a job, a notebook that imports its training from elsewhere may have no process group yet.
    """
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
