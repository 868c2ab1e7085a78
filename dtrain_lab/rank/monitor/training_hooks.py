"""Hooks on optimizers, DDP and backward: find step boundaries, and waits inside backward."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.batches import batch_tensor, sizes_of, time_major
from dtrain_lab.rank.monitor.checks.guard import Guard
from dtrain_lab.rank.monitor.checks.missing_sync import EVERYTHING
from dtrain_lab.rank.monitor.checks.shards import Likeness
from dtrain_lab.rank.monitor.data_loading import watch_loaders
from dtrain_lab.rank.monitor.last_training import LastTraining
from dtrain_lab.rank.monitor.models import Model
from dtrain_lab.rank.monitor.probe import Probes
from dtrain_lab.rank.monitor.recorder import BACKWARD, Recorder
from dtrain_lab.rank.monitor.signature import checksum
from dtrain_lab.rank.monitor.unseen_collectives import LOWER
from dtrain_lab.rank.monitor.waits import now
from dtrain_lab.rank.torch import autograd, ddp, names
from dtrain_lab.rank.torch.compiler import untraced

LOGGER_RATE = 10
"""Iterations between two readings of DDP's own timing of backward, at most; others use the last reading."""
READ_EACH_S = 0.1
"""Seconds between two readings, about: of steps longer than that each is read."""
SETTLED = 2 * LOGGER_RATE
AVERAGING = ring.OPERATION_INDEX["backward_sync"]


def watch_steps(
    recorder: Recorder,
    probes: Probes,
    guard: Guard,
    last_training: LastTraining,
    sync_checks: Likeness,
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
    _watch_ddp(recorder, probes, guard, last_training, sync_checks, sync=sync)
    _watch_checkpoints(recorder)
    _watch_backward(recorder, probes)


def _watch_optimizers(
    recorder: Recorder, probes: Probes, last_training: LastTraining, sync_checks: Likeness
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


def _watch_ddp(
    recorder: Recorder,
    probes: Probes,
    guard: Guard,
    last_training: LastTraining,
    sync_checks: Likeness,
    *,
    sync: bool,
) -> None:
    original = DistributedDataParallel.forward
    timed = sync and names.has(names.BACKWARD)
    missing_sync, shared_start, shards = sync_checks
    cells = recorder.writer.cells
    inside = 0
    """Time inside models without their collectives, ns."""

    def timed_model(inner: Callable[..., Any]) -> Callable[..., Any]:
        def model(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return inner(self, *args, **kwargs)
            nonlocal inside
            began, stood = now(), recorder.exposed
            try:
                return inner(self, *args, **kwargs)
            finally:
                inside += now() - began - (recorder.exposed - stood)

        return model

    def forward(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or not (
            self.training and torch.is_grad_enabled() and recorder.watches
        ):
            recorder.leave_training()
            return original(self, *args, **kwargs)
        if probes.armed:
            probes.check(self)
        averages = self.require_backward_grad_sync
        syncs = timed and averages
        probed = False
        model: Model | None = None
        try:
            model = probes.models.of(self)
            plain = args[0] if args and not kwargs else None  # the usual way to give a batch
            usual = isinstance(plain, torch.Tensor) and plain.dim()
            first = plain if usual else batch_tensor(args, kwargs)
            if not last_training.again(self, first.shape if first is not None else (), syncs=averages):
                model.batch = *sizes_of(first), time_major(self.module)
                last_training.forward(self, first, args, kwargs)
                last_training.passed(self, averages)
            if not model.compared:
                model.compared = True
                shared_start.forward(self)
            if shards.loader is not None:
                shards.forward(self, first)
            if averages:
                missing_sync.elements_sent = EVERYTHING
            recorder.forward(*model.batch)
            if syncs:
                recorder.synced(model, everywhere=model.all_ranks and not ddp.may_be_left(self))
                probed = model.passes == model.next_probe and probes.can_probe(self)
                if model.hooks:  # time of communication hooks after backward is unknown
                    cells[ring.BOUND] = LOWER
        except Exception as error:  # noqa: BLE001 # hooks never break training
            recorder.broke(error)
        if syncs and guard.on:  # the guard compares here, because it can't inside backward
            size = sum(p.numel() for p in ddp.parameters(self))
            group = self.process_group
            number = recorder.numbers.get(checksum(group), 0)
            guard.check((checksum(group), number, AVERAGING, 0, -1, (size,)), group)
        began, ran, stood = now(), inside, recorder.exposed
        try:
            out = probes.forward(self, original, args, kwargs) if probed else original(self, *args, **kwargs)
        finally:
            ended = recorder.doing(0)
        if syncs and model is not None:
            try:
                on_device = self.device_type == "cuda"
                if not (probed or on_device):
                    # all time of DDP's forward outside the model is for averaging: buffers and buckets
                    recorder.exposed = stood + ended - began - (inside - ran)
                probes.forwards[model] = model.begun()
                if on_device:
                    _time_end_of_backward(recorder, out)
                    return out
                model.timed += 1
                if not model.rate or model.timed % model.rate == 0:
                    _read_tail(recorder, model, self)
                if model.tail:
                    recorder.writer.add_tail(model.tail)
            except Exception as error:  # noqa: BLE001 # hooks never break training
                recorder.broke(error)
        return out

    DistributedDataParallel.forward = forward
    if timed:
        ddp.watch_inner_forward(timed_model)


def _time_end_of_backward(recorder: Recorder, out: Any) -> None:
    """On a GPU: measure how long the compute stream waits for DDP's buckets at the end of backward.

    Callbacks queued in backward run at its end, in the order they were queued. The gradient of the model's
    output comes before those of its parameters, so our callback runs before DDP's: by then all computation is
    on the stream, and no wait for a bucket yet.
    """
    if recorder.stream is None:
        return

    def begun(gradient: torch.Tensor) -> None:
        autograd.at_end_of_backward(recorder.backward_computed)

    for leaf in autograd.leaves(out):
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
            leaf.register_hook(begun)


def _read_tail(recorder: Recorder, model: Model, module: Any) -> None:
    """Read how long backward waited in the previous step: DDP's logger has it only at the next forward.

    The logger's `avg_` fields average since the start; the plain ones are of the last sampled iteration.
    """
    if not model.rate:
        model.timed, model.rate = 0, 1
        ddp.time_every(module, 1)
        return
    model.tail = ddp.waited_in_backward(module)
    wanted = max(1, min(LOGGER_RATE, round(READ_EACH_S * 1e9 / max(1, recorder.last_wall))))
    if abs(wanted - model.rate) > 1 and model.timed > SETTLED:
        ddp.time_every(module, wanted)
        model.rate = wanted


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
