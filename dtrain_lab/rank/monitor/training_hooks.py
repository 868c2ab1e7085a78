"""Hooks on optimizers and backward passes: find where steps begin and end."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.checks.guard import Guard
from dtrain_lab.rank.monitor.checks.shards import SyncChecks
from dtrain_lab.rank.monitor.data_loading import watch_loaders
from dtrain_lab.rank.monitor.ddp_forward import watch_ddp
from dtrain_lab.rank.monitor.last_training import LastTraining
from dtrain_lab.rank.monitor.probe import Probes
from dtrain_lab.rank.monitor.step.passes import BACKWARD
from dtrain_lab.rank.monitor.step.recorder import Recorder
from dtrain_lab.rank.torch.compiler import untraced


def watch_steps(
    recorder: Recorder,
    probes: Probes,
    guard: Guard,
    last_training: LastTraining,
    sync_checks: SyncChecks,
    *,
    sync: bool,
) -> None:
    """Install the hooks that find steps, samples and data time.

    Args:
        recorder: records the steps.
        probes: runs probes in some steps.
        guard: compares what backward will send, while it is on.
        last_training: remembers model, optimizers and loader.
        sync_checks: checks of what has to be the same on all ranks.
        sync: measure DDP's exposed communication, too.
    """
    _watch_optimizers(recorder, probes, last_training, sync_checks)
    watch_loaders(recorder, last_training, sync_checks.shards)
    watch_ddp(recorder, probes, guard, last_training, sync_checks, sync=sync)
    _watch_checkpoints(recorder)
    _watch_backward(recorder, probes)


def _watch_optimizers(
    recorder: Recorder, probes: Probes, last_training: LastTraining, sync_checks: SyncChecks
) -> None:
    stepped = False
    began = (0, 0)
    missing_sync, shared_start, shards = sync_checks
    several = torch.optim.LBFGS

    def compare(optimizer: Any) -> None:
        group = shared_start.stepping(optimizer)
        if shards.loader is not None:
            sharded = None if group is not None else _sharded_over(optimizer)
            if group is not None or sharded is not None:
                shards.stepping(optimizer, group or sharded, whole=sharded is not None)

    @untraced
    def before(optimizer: Any, *_: Any) -> None:
        nonlocal began
        if recorder.watches:
            if probes.armed:
                probes.stepping(optimizer)
            began = recorder.optimizer_began()
            if not missing_sync.finished:
                missing_sync.stepped(optimizer)
            if shared_start.by_hand or shards.loader is not None:
                with recorder.harmless():
                    compare(optimizer)

    @untraced
    def after(optimizer: Any, *_: Any) -> None:
        nonlocal stepped
        stepped = True
        if recorder.watches:
            if isinstance(optimizer, several):
                recorder.writer.cells[ring.REPEATS] = 1
            recorder.optimizer_stepped(id(optimizer), began)
            last_training.stepped(optimizer)

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)
    scaled = GradScaler.step

    @untraced
    def step(self: GradScaler, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal stepped
        stepped = False
        result = scaled(self, optimizer, *args, **kwargs)
        if not stepped and recorder.watches:  # skipped for infinite gradients; still a training step
            recorder.optimizer_stepped(id(optimizer))
        return result

    GradScaler.step = step


def _sharded_over(optimizer: Any) -> Any:
    """The group over which FSDP2 averages an optimizer's gradients; None without FSDP2."""
    if "torch.distributed.fsdp" not in sys.modules:
        return None
    from dtrain_lab.rank.torch import fsdp

    return fsdp.group_of([p for group in optimizer.param_groups for p in group["params"]])


def _watch_checkpoints(recorder: Recorder) -> None:
    """Keep the time of saving checkpoints out of training steps."""
    save = torch.save

    @functools.wraps(save)
    def saving(*args: Any, **kwargs: Any) -> Any:
        recorder.leave_training()
        return save(*args, **kwargs)

    torch.save = saving


def _watch_backward(recorder: Recorder, probes: Probes) -> None:
    """Time backward passes: a rank that is long in one may wait in DDP's reducer, which Python can't see."""
    original = torch.autograd.backward
    cells = recorder.writer.cells

    @untraced
    def backward(*args: Any, **kwargs: Any) -> Any:
        if not recorder.watches or cells[ring.DOING] == BACKWARD:  # nested by activation checkpointing
            return original(*args, **kwargs)
        armed = probes.armed
        if armed:
            probes.backward_begins()
        at = recorder.backward_began()
        try:
            try:
                out = original(*args, **kwargs)
            finally:
                recorder.backward_ended(at)
            if armed:
                probes.finish()
            return out
        finally:
            if probes.forwards:
                try:
                    probes.backward_ended()
                except Exception as error:  # noqa: BLE001 # hooks never break training
                    recorder.broke(error)

    torch.autograd.backward = backward
