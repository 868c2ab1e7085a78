"""Tries advice on a rank: times training steps with a change and without it, and undoes the change."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace
from torch.utils.data import DataLoader

from dtrain_lab.errors import BadRequest
from dtrain_lab.metrics.diagnosis_text import READS_NONE
from dtrain_lab.rank.diagnosis.measure import NO_MONITOR, cannot_repeat, feeds, typical_s
from dtrain_lab.rank.diagnosis.replay import (
    Replay,
    TooSlow,
    check_pace,
    iterator,
    of_all,
    restored,
    step_times,
    timed,
)
from dtrain_lab.rank.diagnosis.windows import FEWEST_STEPS, QUICK, scheme
from dtrain_lab.rank.monitor.last_training import ONE_PASS, LastTraining
from dtrain_lab.rank.monitor.monitor import Monitor
from dtrain_lab.rank.torch import ddp, names
from dtrain_lab.training.gradients import active_accumulations, compression
from dtrain_lab.wire.metrics.diagnosis import Change, StepTimings

SETTLING = 2
"""First steps that are not timed: a new reducer orders its buckets after the first one."""
FED_S = 20.0
"""Longest time for the steps that read a loader and are timed, seconds."""
WARM_UP_S = 60.0
"""Longest time until a loader's workers are in their steady state, seconds; no step begins after it."""
FEWEST_TIMED = 2
"""Fewest steps that are timed, however slow the loader is; a mean of one has no error."""
NO_OPTIMIZER = (
    "The optimizer no longer exists: it was created inside a function. "
    "Keep it in a variable of a cell, train, and try again."
)
Batch = Callable[[], None]
"""Trains on one batch."""


def try_change(monitor: Monitor | None, change: Change) -> StepTimings:
    """Time batches without a change and with it, in turns; a collective over all ranks.

    Args:
        monitor: this rank's monitor; None if the cluster runs without one.
        change: the advice to try.

    Returns:
        Seconds per batch for each cycle, without the change in `with_sync` and with it in `changed`, or why
        nothing was measured.

    Raises:
        CantRun: a training step can't be repeated.
    """
    if monitor is None:
        return StepTimings(error=NO_MONITOR)
    with monitor.recorder.resting(), active_accumulations.resting():
        return _timed(monitor, change)


def _timed(monitor: Monitor, change: Change) -> StepTimings:
    last_training = monitor.last_training
    problem = cannot_repeat(last_training).text or _cannot_apply(last_training, change)
    passes = last_training.passes
    # no rank begins unless all can: otherwise the others would wait forever in the first collective
    plans = of_all((problem, passes))
    problem = next((p for p, _ in plans if p), "")
    if not problem and any(p != passes for _, p in plans):
        problem = "The ranks' steps differ in their batches, so no change can be tried on them."
    if problem:
        return StepTimings(error=problem)
    with restored(last_training.model, last_training.optimizers):
        timings = (
            _with_workers(last_training, passes, change)
            if change.id == "workers"
            else _with_averaging(last_training, passes, change)
        )
    loop_s, beside_s = (
        s / len(passes) if s is not None else None for s in (monitor.step_s(), monitor.beside_s())
    )
    return replace(timings, loop_s=loop_s, beside_s=beside_s)


def _cannot_apply(last_training: LastTraining, change: Change) -> str:
    """Why a change can't be tried on this rank; empty if it can."""
    model, optimizers = last_training.model, last_training.optimizers
    if change.id == "accumulate" and change.way == "loop":
        return "" if optimizers else NO_OPTIMIZER
    if change.id == "accumulate":
        if any(active_accumulations.of(optimizer) is not None for optimizer in optimizers):
            return "dt.optimize accumulates gradients of this model already."
        return "" if optimizers else NO_OPTIMIZER
    if change.id == "bf16":
        if not names.has(names.MODELS):
            return names.MODELS.without
        if ddp.has_hooks(model):
            return "The model has a communication hook already, and DDP accepts only one."
        try:
            compression.check("bf16", model)
        except BadRequest as error:
            return error.message
        return ""
    if change.id == "workers":
        return (
            _cannot_read(last_training.loader, len(last_training.passes), change)
            if last_training.reads
            else READS_NONE
        )
    return "This change can't be tried: make it in a cell, and compare."


def _cannot_read(loader: Any, batches: int, change: Change) -> str:
    """Why a loader can't be read with more workers; empty if it can.

    Args:
        loader: the loader that training has read; None if it is gone.
        batches: batches that one step reads.
        change: names the number of workers.
    """
    for workers in (None, change.number):
        why = feeds(loader, batches, workers)[2]
        if why:
            return why
    if loader.batch_sampler is None:
        return "The DataLoader has no batch sampler, so it can't be rebuilt with more workers."
    return ""


def _with_averaging(last_training: LastTraining, passes: tuple[bool, ...], change: Change) -> StepTimings:
    """Time batches whose gradients are averaged less often, or sent in 16 bits."""
    replay = Replay(last_training)
    in_loop = change.way == "loop"
    applied = _unchanged if in_loop else _accumulating if change.id == "accumulate" else _compressing
    each = len(passes)
    group = (*[False] * (change.number - 1), True)

    def step() -> None:
        replay.step(passes)

    def batch() -> None:
        replay.step(ONE_PASS)

    def whole() -> None:
        replay.step(group)

    # compression keeps the loop's own pattern; accumulation replaces it, either by dt.optimize after each
    # batch, or by `no_sync` in a loop that steps once per group
    changed, per_change = (batch, change.number) if change.id == "accumulate" else (step, 1)
    if in_loop:
        changed = whole
    step()
    cycles, steps = scheme(typical_s(step))
    steps = max(min(steps, QUICK[1]), steps // per_change)
    before, after = [], []
    for _ in range(cycles):  # alternate, so that other load on the machine affects both kinds alike
        before.append(timed(step, SETTLING + steps, SETTLING) / each)
        with applied(last_training, change.number):
            calls = 1 if in_loop else per_change
            seconds = timed(changed, (SETTLING + steps) * calls, SETTLING * calls)
        after.append(seconds / (change.number if in_loop else 1 if change.id == "accumulate" else each))
    return StepTimings(with_sync=tuple(before), changed=tuple(after), steps=cycles * steps * per_change)


@contextlib.contextmanager
def _unchanged(_: Any, __: int) -> Iterator[None]:
    """Leave model and optimizers alone: the steps themselves differ."""
    yield


@contextlib.contextmanager
def _accumulating(last_training: LastTraining, every: int) -> Iterator[None]:
    """Step as `dt.optimize` does with `gradient_accumulation_steps`."""
    for optimizer in last_training.optimizers:
        active_accumulations.accumulate(last_training.model, optimizer, every)
    try:
        yield
    finally:
        for optimizer in last_training.optimizers:
            active_accumulations.accumulate(last_training.model, optimizer, 1)


@contextlib.contextmanager
def _compressing(last_training: LastTraining, _: int) -> Iterator[None]:
    """Send gradients in bf16."""
    compression.register(
        last_training.model, compression.Compression("bf16", last_training.model.process_group, tells=False)
    )
    try:
        yield
    finally:
        ddp.drop_hooks(last_training.model)


def _with_workers(last_training: LastTraining, passes: tuple[bool, ...], change: Change) -> StepTimings:
    """Time steps that read the loader, as it is and with more workers."""
    replay, loader = Replay(last_training), last_training.loader
    try:
        before = _fed(replay, passes, loader)
        after = _fed(replay, passes, _with_more(loader, change.number))
    except TooSlow as error:
        return StepTimings(error=str(error))
    return StepTimings(with_sync=before, changed=after, steps=len(after) * len(passes))


def _fed(replay: Replay, passes: tuple[bool, ...], loader: Any) -> tuple[float, ...]:
    """Seconds per batch for each step that reads a loader, without those that its workers have read ahead.

    The clock doesn't stop between the steps: while the ranks exchange anything else, workers read on, and
    what they read then would cost no time.

    Raises:
        TooSlow: the loader does not reach its steady state within `WARM_UP_S`.
    """
    # the ranks' loaders may differ, and each step is a collective
    plans = of_all(feeds(loader, len(passes))[:2])
    available, ahead = min(steps for steps, _ in plans), max(first for _, first in plans)
    with iterator(loader) as batches:

        def fed() -> None:
            replay.step(passes, read=batches.__next__)

        step_s = _warm_up(fed, ahead)
        fits = int(FED_S / step_s)
        # use up the batches that the workers read during the exchange; fewer of them if the loader has few
        # batches, or if it is slow, because its workers have then read almost none
        used = max(0, min(ahead - 1, available - ahead - FEWEST_STEPS, fits))
        for _ in range(used):
            fed()
        steps = min(available - ahead - used, 4 * max(FEWEST_STEPS, ahead), max(FEWEST_TIMED, fits))
        return tuple(seconds / len(passes) for seconds in step_times(fed, steps))


def _warm_up(fed: Callable[[], None], ahead: int) -> float:
    """Run the steps whose batches workers read ahead; returns seconds per step, of the slowest rank.

    Raises:
        TooSlow: they take longer than `WARM_UP_S`. No rank begins another step then.
    """
    began = time.perf_counter()
    for done in range(1, ahead + 1):
        fed()
        took = float(max(of_all(time.perf_counter() - began)))
        if done < ahead:
            check_pace(done, ahead, took, WARM_UP_S)
    return took / ahead


def _with_more(loader: Any, count: int) -> Any:
    """The same loader with another number of workers."""
    return DataLoader(
        loader.dataset,
        batch_sampler=loader.batch_sampler,
        num_workers=count,
        prefetch_factor=loader.prefetch_factor,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        generator=loader.generator,
        **({"in_order": loader.in_order} if hasattr(loader, "in_order") else {}),
    )
