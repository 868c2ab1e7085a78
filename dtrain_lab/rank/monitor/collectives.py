"""Hooks on every collective that is called from Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.checks.guard import Guard
from dtrain_lab.rank.monitor.checks.missing_sync import EVERYTHING, MissingSync
from dtrain_lab.rank.monitor.checks.shared_start import SharedStart
from dtrain_lab.rank.monitor.signature import POINT_TO_POINT, SHAPELESS, group_of, signature
from dtrain_lab.rank.monitor.step.recorder import Recorder
from dtrain_lab.rank.torch import functional

FUNCTIONAL = {
    "all_reduce": "all_reduce",
    "all_gather_tensor": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all_single": "all_to_all_single",
    "broadcast": "broadcast",
}


WAIT = ring.OPERATION_INDEX["wait"]


def watch_collectives(
    recorder: Recorder, guard: Guard, missing_sync: MissingSync, shared_start: SharedStart
) -> None:
    """Measure the training thread's time in collectives, and let the guard compare each of them first.

    Args:
        recorder: gets the times.
        guard: compares each collective, while it is on.
        missing_sync: gets the number of elements sent.
        shared_start: gets the tensors that are summed over ranks.
    """
    for index, name in enumerate(ring.OPERATIONS):
        original = getattr(c10d, name, None)
        if not name or original is None:
            continue
        watched = _called(recorder, guard, missing_sync, shared_start, original, name, index)
        setattr(c10d, name, watched)
        if getattr(dist, name, None) is original:
            setattr(dist, name, watched)
    dist.Work.wait = _watched(recorder, dist.Work.wait, WAIT, counts=False, missing_sync=missing_sync)
    buffers = ring.OPERATION_INDEX["broadcast_buffers"]
    functional.watch_buffers(lambda original: _watched(recorder, original, buffers))
    for name, operation in FUNCTIONAL.items():
        index = ring.OPERATION_INDEX[operation]
        functional.watch(name, partial(_watched, recorder, operation=index, missing_sync=missing_sync))
    functional.watch("wait_tensor", partial(_watched, recorder, operation=WAIT, counts=False))


def _called(
    recorder: Recorder,
    guard: Guard,
    missing_sync: MissingSync,
    shared_start: SharedStart,
    original: Callable[..., Any],
    name: str,
    operation: int,
) -> Callable[..., Any]:
    """Wrap a collective of torch.distributed: note its signature, and let the guard compare it."""

    @functools.wraps(original, updated=())
    def watched(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or not recorder.watches:
            return original(*args, **kwargs)
        call = None
        try:
            call = signature(name, operation, args, kwargs, recorder.numbers)
            if call is not None:
                recorder.writer.note_call(*call)
                missing_sync.elements_sent += prod(call[-1]) if call[-1] else name not in SHAPELESS
            elif name in POINT_TO_POINT:
                missing_sync.elements_sent = EVERYTHING
            if name == "all_reduce":
                shared_start.reduced(args[0] if args else kwargs.get("tensor"), group_of(args, kwargs))
        except Exception as error:  # noqa: BLE001 # hooks never break training
            recorder.broke(error)
        if guard.on and call is not None:
            guard.check(call, group_of(args, kwargs))
        mark = recorder.enter(operation)
        try:
            return original(*args, **kwargs)
        finally:
            recorder.leave(mark)

    return watched


def _watched(
    recorder: Recorder,
    original: Callable[..., Any],
    operation: int,
    *,
    counts: bool = True,
    missing_sync: MissingSync | None = None,
) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def watched(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or not recorder.watches:
            return original(*args, **kwargs)
        if missing_sync is not None and not (operation == WAIT and missing_sync.elements_sent):
            # a wait, too, belongs to an operation that no hook has seen
            missing_sync.elements_sent = EVERYTHING
        mark = recorder.enter(operation, counts=counts)
        try:
            return original(*args, **kwargs)
        finally:
            recorder.leave(mark)

    return watched
