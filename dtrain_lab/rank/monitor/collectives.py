"""Hooks on every collective that Python can see."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.core.estimate import ring
from dtrain_lab.rank.monitor.recorder import Recorder

FUNCTIONAL = {
    "all_reduce": "all_reduce",
    "all_gather_tensor": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all_single": "all_to_all_single",
    "broadcast": "broadcast",
}


def watch_collectives(recorder: Recorder) -> None:
    """Count the time that the training thread stands in collectives."""
    for index, name in enumerate(ring.OPERATIONS):
        original = getattr(c10d, name, None)
        if not name or original is None:
            continue
        watched = _watched(recorder, original, index)
        setattr(c10d, name, watched)
        if getattr(dist, name, None) is original:
            setattr(dist, name, watched)
    wait = ring.OPERATION_INDEX["wait"]
    dist.Work.wait = _watched(recorder, dist.Work.wait, wait, counts=False)
    dist._broadcast_coalesced = _watched(
        recorder, dist._broadcast_coalesced, ring.OPERATION_INDEX["broadcast_buffers"]
    )
    for name, operation in FUNCTIONAL.items():
        original = getattr(functional, name, None)
        if original is not None:
            setattr(functional, name, _watched(recorder, original, ring.OPERATION_INDEX[operation]))
    functional.wait_tensor = _watched(recorder, functional.wait_tensor, wait, counts=False)


def _watched(
    recorder: Recorder, original: Callable[..., Any], operation: int, *, counts: bool = True
) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def watched(*args: Any, **kwargs: Any) -> Any:
        if not recorder.watches:
            return original(*args, **kwargs)
        with recorder.collective(operation, counts=counts):
            return original(*args, **kwargs)

    return watched
