"""NCCL's back-end of a process group: its options, its communicator, its abort. Not in torch for CPUs."""

from __future__ import annotations

import logging
import os
import threading
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from dtrain_lab.rank.torch import group_backends, groups, names

WATCHDOG = (
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_ENABLE_MONITORING",
    "TORCH_NCCL_RETHROW_CUDA_ERRORS",
)
"""Variables of torch's watchdog. It ends a process whose peer has died, whose GPU has failed or that has
waited for long, and with it the user's variables; a cluster's head aborts the collective and keeps the
process."""
log = logging.getLogger("dtrain_lab.rank")


def switch_watchdog_off() -> None:
    """Switch torch's watchdog off in groups that are made from now on, unless the user has set it."""
    for name in WATCHDOG:
        if name.removeprefix("TORCH_") not in os.environ:  # torch's earlier spelling, which it still reads
            os.environ.setdefault(name, "0")


def options(timeout: timedelta, members: list[int], name: str) -> Any:
    """Options of a back-end; arguments as for `group_backends.gloo_options`."""
    return group_backends.common_options(dist.ProcessGroupNCCL.Options(), timeout, members, name)


def abort_all() -> None:
    """Abort the collectives of all groups of this process at once, from any thread, and wait for the aborts.

    NCCL's abort of one communicator frees memory of the GPU, which waits for every kernel on it, and so for
    the collectives of other communicators. Those end only with their own abort: taking turns would hang.
    """
    named = groups.group_names()
    threads = [
        threading.Thread(target=_abort, args=(group, name), name=f"abort of group {name}", daemon=True)
        for group, name in named.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _abort(group: Any, name: str) -> None:
    try:
        if names.has(names.GROUPS):
            for backend in _backends(group):
                backend.abort()
        else:
            group.abort()
    except RuntimeError:
        log.exception("NCCL could not abort the group %s", name)


def connect(group: Any) -> None:
    """Create the communicator of a group if the GPUs of all its ranks work; a collective.

    torch would create it at the first collective. A rank that waits there for a rank that never comes can't
    be freed, because a communicator that is still being created can't be aborted. This remains so without
    `names.GROUPS`, and if a peer dies while the communicator is created.

    Args:
        group: a group with gloo for CPUs and NCCL for GPUs.

    Raises:
        RuntimeError: this rank's GPU does not work.
    """
    failure = _device_failure()
    if names.has(names.GROUPS):
        working = _smallest(group, int(failure is None))
        for backend in _backends(group) if working else []:
            backend.eager_connect_single_device(torch.device("cuda", torch.cuda.current_device()))
    if failure is not None:
        raise failure


def _backends(group: Any) -> list[Any]:
    # with TORCH_DISTRIBUTED_DEBUG=DETAIL torch wraps them
    unwrapped = [getattr(each, "wrapped_pg", each) for each in group_backends.backends(group)]
    return [each for each in unwrapped if type(each).__name__ == "ProcessGroupNCCL"]


def _device_failure() -> RuntimeError | None:
    """The error that every CUDA call of this process raises from now on; None if the GPU works."""
    try:
        torch.cuda.current_stream().query()
    except RuntimeError as error:
        return error
    return None


def _smallest(group: Any, value: int) -> int:
    """The smallest value of all ranks, exchanged between CPUs; a collective, the first that gloo counts."""
    order = dist.AllreduceOptions()
    order.reduceOp = dist.ReduceOp.MIN
    tensor = torch.tensor([value])
    group._get_backend(torch.device("cpu")).allreduce([tensor], order).wait()
    return int(tensor)
