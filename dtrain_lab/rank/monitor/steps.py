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
from torch.utils._pytree import tree_leaves
from torch.utils.data.dataloader import _BaseDataLoaderIter

from dtrain_lab.core.estimate import ring
from dtrain_lab.rank.monitor.batches import batch_tensor, sizes, sizes_of, time_major
from dtrain_lab.rank.monitor.guard import Guard
from dtrain_lab.rank.monitor.probe import Probes
from dtrain_lab.rank.monitor.recorder import BACKWARD, DATA, FORWARD, Recorder, now
from dtrain_lab.rank.monitor.seen import Seen
from dtrain_lab.rank.monitor.signature import checksum
from dtrain_lab.rank.monitor.unseen import LOWER
from dtrain_lab.rank.monitor.untraced import untraced

LOGGER_RATE = 10
"""DDP's own timing of backward is taken each so many iterations at most; the rest use the last reading."""
READ_EACH_S = 0.1
"""… and at least so often: long steps are read each."""
SETTLED = 2 * LOGGER_RATE
AVERAGING = ring.OPERATION_INDEX["backward_sync"]


def watch_steps(recorder: Recorder, probes: Probes, guard: Guard, seen: Seen, *, sync: bool) -> None:
    """Find steps, samples and data time; with `sync`, DDP's exposed communication too."""
    _watch_optimizers(recorder, seen)
    _watch_loaders(recorder, seen)
    _watch_ddp(recorder, probes, guard, seen, sync=sync)
    _watch_backward(recorder, probes)


def _watch_optimizers(recorder: Recorder, seen: Seen) -> None:
    stepped = False
    began = (0, 0)

    @untraced
    def before(*_: Any) -> None:
        nonlocal began
        if recorder.watches:
            began = recorder.optimizer_began()

    @untraced
    def after(optimizer: Any, *_: Any) -> None:
        nonlocal stepped
        stepped = True
        if recorder.watches:
            recorder.optimizer_ran(began)
            recorder.optimizer_stepped(id(optimizer))
            seen.stepped(optimizer)

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)
    scaled = GradScaler.step

    @untraced
    def step(self: GradScaler, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal stepped
        stepped = False
        result = scaled(self, optimizer, *args, **kwargs)
        if not stepped:  # the scaler skipped it: infinite gradients; it is a training step all the same
            recorder.optimizer_stepped(id(optimizer))
        return result

    GradScaler.step = step


def _watch_loaders(recorder: Recorder, seen: Seen) -> None:
    following = _BaseDataLoaderIter.__next__

    @untraced
    def following_batch(self: Any) -> Any:
        if not recorder.watches:
            return following(self)
        began = now()
        recorder.doing(DATA)
        try:
            batch = following(self)
        finally:
            recorder.doing(0)
        samples = tokens = 0
        if torch.is_grad_enabled():  # it is for training
            with recorder.harmless():
                samples, tokens = sizes(batch)
                recorder.epoch(self._num_yielded, _length(self))
        recorder.fetched(now() - began, samples, tokens)
        return batch

    _BaseDataLoaderIter.__next__ = following_batch
    made = _BaseDataLoaderIter.__init__

    @untraced
    def make(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        made(self, loader, *args, **kwargs)
        if recorder.watches and torch.is_grad_enabled():
            with recorder.harmless():
                seen.read(loader)

    _BaseDataLoaderIter.__init__ = make


def _length(iterator: Any) -> int:
    try:
        return len(iterator)
    except TypeError:  # a stream
        return 0


def _watch_ddp(recorder: Recorder, probes: Probes, guard: Guard, seen: Seen, *, sync: bool) -> None:
    original = DistributedDataParallel.forward
    inner = DistributedDataParallel._run_ddp_forward
    batch = (0, 0, False)
    inside = 0
    """Spent in models, ns, but for what they stood in collectives."""

    def model(self: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return inner(self, *args, **kwargs)
        nonlocal inside
        began, stood = now(), recorder.exposed
        try:
            return inner(self, *args, **kwargs)
        finally:
            inside += now() - began - (recorder.exposed - stood)

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or not (
            self.training and torch.is_grad_enabled() and recorder.watches
        ):
            return original(self, *args, **kwargs)
        nonlocal batch
        syncs = sync and self.require_backward_grad_sync
        probed = False
        try:
            first = batch_tensor(args, kwargs)
            if not seen.again(self, first.shape if first is not None else ()):
                batch = *sizes_of(first), time_major(self.module)
                seen.forward(self, first, args, kwargs)
            seen.passed(self, self.require_backward_grad_sync)
            recorder.forward(*batch)
            if syncs:
                recorder.synced()
                probed = probes.due(self)
                if self._comm_hooks:  # what they do after backward is theirs
                    recorder.writer.cells[ring.BOUND] = LOWER
        except Exception as error:  # noqa: BLE001
            recorder.broke(error)
        if syncs and guard.on:  # what backward will send can't be compared there
            size = sum(p.numel() for p in self._module_parameters)
            group = self.process_group
            number = recorder.numbers.get(checksum(group), 0)
            guard.check((checksum(group), number, AVERAGING, 0, -1, (size,)), group)
        recorder.doing(FORWARD)
        began, ran, stood = now(), inside, recorder.exposed
        try:
            run = probes.forward if probed else _plain
            out = run(self, original, args, kwargs)
        finally:
            recorder.doing(0)
        if syncs:
            try:
                on_device = self.device_type == "cuda"
                if not (probed or on_device):
                    # what DDP does beside running the model is for averaging: buffers, buckets
                    recorder.exposed = stood + now() - began - (inside - ran)
                probes.forwarded(self)
                if on_device:
                    _time_end_of_backward(recorder, out)
                else:
                    _read_tail(recorder, self)
            except Exception as error:  # noqa: BLE001
                recorder.broke(error)
        return out

    DistributedDataParallel.forward = forward
    DistributedDataParallel._run_ddp_forward = model


def _plain(module: Any, original: Any, args: Any, kwargs: Any) -> Any:
    return original(module, *args, **kwargs)


def _time_end_of_backward(recorder: Recorder, out: Any) -> None:
    """On a GPU: what the compute stream waits for at the end of backward, where it waits for DDP's buckets.

    What is queued in backward runs at its end, in that order. The gradient of the model's output comes before
    those of its parameters, so ours runs before DDP's: all computation is on the stream by then, and no wait.
    """
    if recorder.stream is None:
        return

    def begun(gradient: torch.Tensor) -> None:
        torch.autograd.Variable._execution_engine.queue_callback(recorder.backward_computed)

    for leaf in tree_leaves(out):
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
            leaf.register_hook(begun)


def _read_tail(recorder: Recorder, module: Any) -> None:
    """Add to the step before what its backward waited for: DDP's logger folds it in at the next forward.

    The `avg_` fields average since the start; the plain ones are of the last sampled iteration.
    """
    state = module.__dict__
    if "_dtrain_tail" not in state:
        module._set_ddp_runtime_logging_sample_rate(1)
        state["_dtrain_tail"] = (0, 0, 1)
        return
    turn, tail, rate = state["_dtrain_tail"]
    turn += 1
    if turn % rate == 0:
        figures = module.logger._get_ddp_logging_data().ints_map
        spent = figures.get("backward_comm_time", 0)
        tail = max(0, spent - figures.get("backward_compute_comm_overlap_time", 0))
        wanted = max(1, min(LOGGER_RATE, round(READ_EACH_S * 1e9 / max(1, recorder.last_wall))))
        if abs(wanted - rate) > 1 and turn > SETTLED:
            module._set_ddp_runtime_logging_sample_rate(wanted)
            rate = wanted
    state["_dtrain_tail"] = (turn, tail, rate)
    if tail:
        recorder.writer.add_tail(tail)


def _watch_backward(recorder: Recorder, probes: Probes) -> None:
    """A rank that stands long in backward may wait in DDP's reducer, which Python can't see."""
    original = torch.autograd.backward

    @untraced
    def backward(*args: Any, **kwargs: Any) -> Any:
        if not recorder.watches or recorder.doing_now == BACKWARD:  # checkpointing runs one inside another
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
            try:
                probes.backward_ended()
            except Exception as error:  # noqa: BLE001
                recorder.broke(error)

    torch.autograd.backward = backward
