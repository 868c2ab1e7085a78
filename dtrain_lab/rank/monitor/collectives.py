"""Hooks on every collective that Python can see."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.core.estimate import ring
from dtrain_lab.rank.monitor.guard import Guard
from dtrain_lab.rank.monitor.recorder import Recorder
from dtrain_lab.rank.monitor.signature import group_of, signature

FUNCTIONAL = {
    "all_reduce": "all_reduce",
    "all_gather_tensor": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all_single": "all_to_all_single",
    "broadcast": "broadcast",
}


def watch_collectives(recorder: Recorder, guard: Guard) -> None:
    """Count the time that the training thread stands in collectives; have the guard compare them first."""
    for index, name in enumerate(ring.OPERATIONS):
        original = getattr(c10d, name, None)
        if not name or original is None:
            continue
        watched = _called(recorder, guard, original, name, index)
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


def _called(
    recorder: Recorder, guard: Guard, original: Callable[..., Any], name: str, operation: int
) -> Callable[..., Any]:
    """A collective of torch.distributed: its signature is kept, and compared where the guard is on."""

    @functools.wraps(original, updated=())
    def watched(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or not recorder.watches:
            return original(*args, **kwargs)
        call = None
        with recorder.harmless():
            call = signature(name, operation, args, kwargs, recorder.numbers)
            if call is not None:
                recorder.writer.note_call(*call)
        if guard.on and call is not None:
            guard.check(call, group_of(args, kwargs))
        with recorder.collective(operation):
            return original(*args, **kwargs)

    return watched


def _watched(
    recorder: Recorder, original: Callable[..., Any], operation: int, *, counts: bool = True
) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def watched(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or not recorder.watches:
            return original(*args, **kwargs)
        with recorder.collective(operation, counts=counts):
            return original(*args, **kwargs)

    return watched
