"""Hooks on optimizers, loaders and DDP: where a step ends, what it read, what backward had to wait for."""

from __future__ import annotations

from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data.dataloader import _BaseDataLoaderIter

from dtrain_lab.core.estimate import ring
from dtrain_lab.rank.monitor.recorder import Recorder, now

LOGGER_RATE = 10
"""DDP's own timing of backward is taken each so many iterations; the rest use the last reading."""
FORWARD, BACKWARD, OPTIMIZER, DATA = (
    ring.DOINGS.index(n) for n in ("forward", "backward", "optimizer", "data")
)


def watch_steps(recorder: Recorder, *, sync: bool) -> None:
    """Find steps, samples and data time; with `sync`, DDP's exposed communication too."""
    _watch_optimizers(recorder)
    _watch_loaders(recorder)
    _watch_ddp(recorder, sync=sync)
    _watch_backward(recorder)


def first_dimension(batch: Any, depth: int = 0) -> int | None:
    """Samples of a batch: the first dimension of the first tensor in it."""
    if isinstance(batch, torch.Tensor):
        return int(batch.shape[0]) if batch.dim() else None
    if depth > 3:
        return None
    values = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    for value in values:
        found = first_dimension(value, depth + 1)
        if found is not None:
            return found
    return None


def _watch_optimizers(recorder: Recorder) -> None:
    stepped = False

    def before(*_: Any) -> None:
        recorder.doing(OPTIMIZER)

    def after(optimizer: Any, *_: Any) -> None:
        nonlocal stepped
        stepped = True
        recorder.doing(0)
        if recorder.watches:
            recorder.optimizer_stepped(id(optimizer))

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)
    scaled = GradScaler.step

    def step(self: GradScaler, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal stepped
        stepped = False
        result = scaled(self, optimizer, *args, **kwargs)
        if not stepped:  # the scaler skipped it: infinite gradients; it is a training step all the same
            recorder.optimizer_stepped(id(optimizer))
        return result

    GradScaler.step = step


def _watch_loaders(recorder: Recorder) -> None:
    following = _BaseDataLoaderIter.__next__

    def following_batch(self: Any) -> Any:
        if not recorder.watches:
            return following(self)
        began = now()
        recorder.doing(DATA)
        try:
            batch = following(self)
        finally:
            recorder.doing(0)
        trains = torch.is_grad_enabled()
        recorder.fetched(now() - began, (first_dimension(batch) or 0) if trains else 0)
        return batch

    _BaseDataLoaderIter.__next__ = following_batch


def _watch_ddp(recorder: Recorder, *, sync: bool) -> None:
    original = DistributedDataParallel.forward

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not (self.training and torch.is_grad_enabled() and recorder.watches):
            return original(self, *args, **kwargs)
        recorder.forward(first_dimension(args) or first_dimension(kwargs) or 0)
        recorder.doing(FORWARD)
        try:
            out = original(self, *args, **kwargs)
        finally:
            recorder.doing(0)
        if sync and self.require_backward_grad_sync:
            _read_tail(recorder, self)
        return out

    DistributedDataParallel.forward = forward


def _read_tail(recorder: Recorder, module: Any) -> None:
    """Add to the step before what its backward waited for: DDP's logger folds it in at the next forward.

    The `avg_` fields average since the start; the plain ones are of the last sampled iteration.
    """
    state = module.__dict__
    if "_dtrain_tail" not in state:
        module._set_ddp_runtime_logging_sample_rate(LOGGER_RATE)
        state["_dtrain_tail"] = (0, 0)
        return
    turn, tail = state["_dtrain_tail"]
    if turn % LOGGER_RATE < 2:
        figures = module.logger._get_ddp_logging_data().ints_map
        spent = figures.get("backward_comm_time", 0)
        tail = max(0, spent - figures.get("backward_compute_comm_overlap_time", 0))
    state["_dtrain_tail"] = (turn + 1, tail)
    if tail:
        recorder.writer.add_tail(tail)


def _watch_backward(recorder: Recorder) -> None:
    """A rank that stands long in backward may wait in DDP's reducer, which Python can't see."""
    original = torch.autograd.backward

    def backward(*args: Any, **kwargs: Any) -> Any:
        if not recorder.watches:
            return original(*args, **kwargs)
        recorder.doing(BACKWARD)
        try:
            return original(*args, **kwargs)
        finally:
            recorder.doing(0)

    torch.autograd.backward = backward
