"""Hooks on DDP's forward pass: the batch, what backward will average, and how long backward waited for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.batches import batch_tensor, sizes_of, time_major
from dtrain_lab.rank.monitor.checks.guard import Guard
from dtrain_lab.rank.monitor.checks.missing_sync import EVERYTHING
from dtrain_lab.rank.monitor.checks.shards import SyncChecks
from dtrain_lab.rank.monitor.checks.unseen_collectives import LOWER
from dtrain_lab.rank.monitor.last_training import LastTraining
from dtrain_lab.rank.monitor.probe import Probes
from dtrain_lab.rank.monitor.signature import checksum
from dtrain_lab.rank.monitor.step.models import Model
from dtrain_lab.rank.monitor.step.recorder import Recorder
from dtrain_lab.rank.monitor.step.waits import now
from dtrain_lab.rank.torch import autograd, ddp, names

LOGGER_RATE = 10
"""Largest number of iterations between two readings of DDP's own timing of backward passes."""
READ_EACH_S = 0.1
"""Approximate interval of the readings, seconds; of longer steps, each is read."""
SETTLED = 2 * LOGGER_RATE
AVERAGING = ring.OPERATION_INDEX["DDP's all_reduce"]


def watch_ddp(
    recorder: Recorder,
    probes: Probes,
    guard: Guard,
    last_training: LastTraining,
    sync_checks: SyncChecks,
    *,
    sync: bool,
) -> None:
    """Install the hooks on the forward pass of DDP models.

    Args:
        recorder: records the steps.
        probes: runs probes in some steps.
        guard: compares what backward will send, while it is on.
        last_training: remembers the model and its batches.
        sync_checks: checks of what has to be the same on all ranks.
        sync: measure DDP's exposed communication, too.
    """
    timed = sync and names.has(names.BACKWARD)
    inside = _TimeInModels()
    DistributedDataParallel.forward = _measured_forward(
        recorder, probes, guard, last_training, sync_checks, inside, timed=timed
    )
    if timed:
        ddp.watch_inner_forward(partial(_timed_model, recorder, inside))


class _TimeInModels:
    """Time inside models without their collectives, ns."""

    __slots__ = ("ns",)

    def __init__(self) -> None:
        self.ns = 0


def _timed_model(recorder: Recorder, inside: _TimeInModels, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Add the time of the forward pass that DDP runs inside its own."""

    def model(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return inner(self, *args, **kwargs)
        began, exposed = now(), recorder.exposed
        try:
            return inner(self, *args, **kwargs)
        finally:
            inside.ns += now() - began - (recorder.exposed - exposed)

    return model


def _measured_forward(
    recorder: Recorder,
    probes: Probes,
    guard: Guard,
    last_training: LastTraining,
    sync_checks: SyncChecks,
    inside: _TimeInModels,
    *,
    timed: bool,
) -> Callable[..., Any]:
    """DDP's forward with measurements.

    It is one long function because it runs in each step: a call costs more than most of its statements. Only
    what is rare has a function of its own.
    """
    original = DistributedDataParallel.forward
    missing_sync, shared_start, shards = sync_checks
    cells = recorder.writer.cells

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
                _remember_batch(last_training, model, self, first, (args, kwargs), averages)
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
        if syncs and guard.on:
            _compare_averaging(recorder, guard, self)
        began, ran, exposed = now(), inside.ns, recorder.exposed
        try:
            out = probes.forward(self, original, args, kwargs) if probed else original(self, *args, **kwargs)
        finally:
            ended = recorder.doing(0)
        if syncs and model is not None:
            try:
                probes.forwards[model] = model.begun()
                if self.device_type == "cuda":
                    _time_end_of_backward(recorder, out)
                    return out
                if not probed:  # all time of DDP's forward outside the model is for averaging
                    recorder.exposed = exposed + ended - began - (inside.ns - ran)
                model.timed += 1
                if not model.rate or model.timed % model.rate == 0:
                    _read_tail(recorder, model, self)
                if model.tail:
                    recorder.writer.add_tail(model.tail)
            except Exception as error:  # noqa: BLE001 # hooks never break training
                recorder.broke(error)
        return out

    return forward


def _remember_batch(
    last_training: LastTraining, model: Model, module: Any, first: Any, given: Any, averages: bool
) -> None:
    """Remember a forward pass whose model, or shape of the batch, is not that of the last one.

    Args:
        last_training: remembers the pass.
        model: gets the size of the batch.
        module: the DDP model.
        first: the first tensor of the batch; None without one.
        given: arguments of the pass, by position and by name.
        averages: whether backward will average gradients.
    """
    args, kwargs = given
    model.batch = *sizes_of(first), time_major(module.module)
    last_training.forward(module, first, args, kwargs)
    last_training.passed(module, averages)


def _compare_averaging(recorder: Recorder, guard: Guard, module: Any) -> None:
    """Let the guard compare what backward will average, because it can't inside backward."""
    size = sum(p.numel() for p in ddp.parameters(module))
    group = module.process_group
    number = recorder.numbers.get(checksum(group), 0)
    guard.check((checksum(group), number, AVERAGING, 0, -1, (size,)), group)


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
