"""`diagnose` on a rank: times training steps with and without gradient averaging, and with the loader."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from msgspec.structs import replace
from torch.utils.data import IterableDataset

from dtrain_lab.machine.facts import local_facts
from dtrain_lab.metrics.diagnosis import BARE, GONE, MODEL_GONE, NO_MODEL
from dtrain_lab.metrics.diagnosis_text import READS_NONE
from dtrain_lab.rank.diagnosis.replay import Replay, TooSlow, iterator, of_all, restored, timed
from dtrain_lab.rank.diagnosis.windows import (
    FEWEST_STEPS,
    READ_AHEAD_S,
    WINDOW_S,
    feeding,
    scheme,
    trial_steps,
)
from dtrain_lab.rank.monitor.last_training import ONE_PASS, LastTraining
from dtrain_lab.rank.monitor.monitor import Monitor
from dtrain_lab.rank.torch import names
from dtrain_lab.text.units import counted, size_text
from dtrain_lab.training.gradients import active_accumulations
from dtrain_lab.wire.metrics.diagnosis import StepTimings

NO_MONITOR = "The monitor is off (--no-monitor): start the cluster with it."
MEMORY_SHARE = 0.25
"""Share of a machine's memory that batches may take which its ranks' workers read ahead for a diagnosis."""
PREFETCHED = 2
"""Batches that each worker reads ahead, where the loader does not say how many; torch's default."""
NO_LOADER = "The DataLoader that training read no longer exists: keep it in a variable to measure it."
NOTHING = "No DDP model has trained in this cluster yet: train a few steps, then diagnose."


class Obstacle(NamedTuple):
    """Why a training step can't be repeated; `code` where the head acts on it. Both are empty if it can."""

    text: str = ""
    code: str = ""


def measure(monitor: Monitor | None) -> StepTimings:
    """Run both checks (communication and input); a collective over all ranks.

    Args:
        monitor: this rank's monitor; None if the cluster runs without one.

    Returns:
        Seconds per step for each cycle of measurement, or why nothing was measured.

    Raises:
        CantRun: a training step can't be repeated.
    """
    if monitor is None:
        return StepTimings(error=NO_MONITOR)
    with monitor.recorder.resting(), active_accumulations.resting():
        return _timed(monitor)


def cannot_repeat(last_training: LastTraining) -> Obstacle:
    """Why a training step can't be repeated on this rank.

    Args:
        last_training: the model, optimizers and loader that trained last.
    """
    if not names.has(names.DIAGNOSE):
        return Obstacle(names.DIAGNOSE.without)
    if not last_training.trained:
        return Obstacle(NOTHING, NO_MODEL)
    if last_training.trains_no_model:
        return Obstacle(BARE, NO_MODEL)
    if last_training.model is None:
        return Obstacle(GONE, MODEL_GONE)
    if not last_training.repeatable:
        return Obstacle(
            f"{type(last_training.model.module).__name__} takes arguments that can't be reproduced."
        )
    if any(isinstance(optimizer, torch.optim.LBFGS) for optimizer in last_training.optimizers):
        text = "LBFGS calls the training code itself in each step, so a step can't be repeated without it."
        return Obstacle(text)
    return Obstacle()


def _timed(monitor: Monitor) -> StepTimings:
    last_training = monitor.last_training
    skipped: dict[str, str] = {}
    problem = cannot_repeat(last_training)
    passes = last_training.passes
    steps = ahead = 0
    if not problem.text:
        steps, ahead, why = (
            feeds(last_training.loader, len(passes)) if last_training.reads else (0, 0, READS_NONE)
        )
        if steps and (large := _too_large(last_training)):
            steps, why = 0, large
        if why:
            skipped["data"] = why
    # no rank begins unless all can: otherwise the others would wait forever in the first collective
    plans = of_all((problem, passes, steps, ahead))
    problem = next((p for p, *_ in plans if p.text), Obstacle())
    if problem.text:
        return StepTimings(error=problem.text, code=problem.code)
    if any(p != passes for _, p, *_ in plans):
        passes = ONE_PASS
        skipped["passes"] = "The ranks' steps differ in their batches: the checks are of steps of one batch."
    steps, ahead = min(s for *_, s, _ in plans), max(a for *_, a in plans)
    if steps < ahead + 2:  # possible if the ranks' loaders differ
        steps = 0
    with restored(last_training.model, last_training.optimizers):
        timings = _measure(last_training, passes, (steps, ahead), skipped)
    if "passes" in skipped:
        return timings
    data_s = monitor.data_s() if last_training.reads else None
    return replace(
        timings,
        loop_s=monitor.step_s(),
        beside_s=monitor.beside_s(),
        called_s=monitor.called_s(),
        data_s=data_s,
    )


def _measure(
    last_training: LastTraining, passes: tuple[bool, ...], loader: tuple[int, int], skipped: dict[str, str]
) -> StepTimings:
    """Time steps with averaging, without averaging, and with the loader.

    Args:
        last_training: the model, its arguments, optimizers and loader.
        passes: for each forward and backward pass of a step, whether it averages gradients.
        loader: number of steps that the loader can feed, and number of steps that its workers read ahead.
        skipped: what is not measured, and why.

    Returns:
        Seconds per step for each cycle of measurement.
    """
    replay = Replay(last_training)

    def step(sync: bool = True) -> None:
        replay.step(passes, sync=sync)

    step()
    cycles, steps = scheme(typical_s(step))
    synced, alone, real = [], [], []
    batches: Any
    with iterator(last_training.loader) if loader[0] else contextlib.nullcontext() as batches:

        def fed() -> None:
            replay.step(passes, read=batches.__next__)

        cycles_fed = steps_fed = 0
        if loader[0]:
            began = time.perf_counter()
            fed()
            fed_s = max(of_all(time.perf_counter() - began))
            cycles_fed, steps_fed = feeding(loader[0] - 1, loader[1], fed_s, cycles)
        for cycle in range(cycles):  # alternate, so that other load on the machine affects all kinds alike
            synced.append(timed(step, steps))
            alone.append(timed(lambda: step(False), steps))
            if cycle < cycles_fed:
                try:
                    real.append(timed(fed, steps_fed, loader[1], READ_AHEAD_S / cycles_fed))
                except TooSlow as slow:  # on all ranks at once
                    cycles_fed = 0
                    skipped |= {} if real else {"data": str(slow)}
    return StepTimings(tuple(synced), tuple(alone), tuple(real), skipped=skipped)


def typical_s(step: Callable[[], None]) -> float:
    """Time of a step on the slowest rank, seconds; a collective.

    Args:
        step: runs one step.
    """
    once = max(of_all(timed(step, 2)))
    return float(max(of_all(timed(step, trial_steps(once))))) if once < WINDOW_S / 4 else once


def _prefetched(loader: Any, workers: int | None = None) -> int:
    """Number of batches that a loader's workers read ahead; `workers`: as of `feeds`."""
    reading: int = loader.num_workers if workers is None else workers
    return reading * (loader.prefetch_factor or PREFETCHED)


def _too_large(last_training: LastTraining) -> str:
    """Why the batches that workers read ahead don't fit into memory a second time; empty if they do."""
    count = _prefetched(last_training.loader)
    size = count * last_training.batch_bytes
    if size * int(os.environ.get("LOCAL_WORLD_SIZE", "1")) <= MEMORY_SHARE * local_facts().memory_bytes:
        return ""
    return (
        f"The loader's workers read {counted(count, 'batch', 'batches')} ahead, {size_text(size)} on each "
        "rank: too much memory to read them a second time. Fewer workers, or a smaller prefetch_factor, read "
        "less."
    )


def feeds(loader: Any, batches: int, workers: int | None = None) -> tuple[int, int, str]:
    """How many steps a loader can feed.

    Args:
        loader: a DataLoader, or None.
        batches: batches that one step reads.
        workers: number of worker processes; None for the loader's own.

    Returns:
        Number of steps in the loader, number of steps that its workers read ahead, and the reason why it
        can't be checked (empty if it can).
    """
    if loader is None:
        return 0, 0, NO_LOADER
    if isinstance(loader.dataset, IterableDataset):
        return 0, 0, "The data is a stream, which can't be read without using it up."
    try:
        count = len(loader)
    except TypeError:
        return 0, 0, "The loader has no length."
    # batches that its workers may have prefetched before timing began
    ahead = 1 + _prefetched(loader, workers) // batches
    if count // batches < FEWEST_STEPS + ahead - 1:
        return 0, 0, f"The loader has {counted(count, 'batch', 'batches')}, too few to tell."
    return count // batches, ahead, ""
