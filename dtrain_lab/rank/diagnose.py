"""`diagnose` on a rank: times training steps with and without gradient averaging, and with the loader.

Afterwards parameters, buffers, gradients, optimizers and random-number states are restored. The loader is
read through a separate iterator.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from msgspec.structs import replace
from torch.utils.data import IterableDataset

from dtrain_lab.metrics.diagnosis import FEWEST_STEPS, feeding, scheme
from dtrain_lab.rank.monitor import Monitor
from dtrain_lab.rank.monitor.last_training import ONE_PASS
from dtrain_lab.rank.torch import autograd, loaders, names
from dtrain_lab.training.gradients import accumulation
from dtrain_lab.wire.metrics.diagnosis import Report

NOTHING = "No DDP model has trained in this cluster yet: train a few steps, then diagnose."


class CantRun(Exception):
    """A training step can't be repeated on this rank; the message says why."""


def measure(monitor: Monitor | None) -> Report:
    """Run both checks (communication and input); a collective over all ranks.

    Args:
        monitor: this rank's monitor; None where the cluster runs without one.

    Returns:
        Seconds per step for each cycle of measurement, or why nothing was measured.

    Raises:
        CantRun: a training step can't be repeated.
    """
    if monitor is None:
        return Report(error="The monitor is off (--no-monitor): start the cluster with it.")
    with monitor.recorder.resting(), accumulation.resting():
        return _report(monitor)


def _report(monitor: Monitor) -> Report:
    seen = monitor.seen
    model, skipped = seen.model, {}
    problem = ""
    if not names.has(names.DIAGNOSE):
        problem = names.DIAGNOSE.without
    elif model is None:
        problem = NOTHING
    elif not seen.repeatable:
        problem = f"{type(model.module).__name__} takes arguments that can't be made again."
    passes = seen.passes
    steps = ahead = 0
    if not problem:
        steps, ahead, why = _steps(seen.loader, len(passes))
        if why:
            skipped["data"] = why
    # no rank begins unless all can: otherwise the others would wait forever in the first collective
    plans = _of_all((problem, passes, steps, ahead))
    problem = next((p for p, *_ in plans if p), "")
    if problem:
        return Report(error=problem)
    if any(p != passes for _, p, *_ in plans):
        passes = ONE_PASS
        skipped["passes"] = "The ranks' steps differ in their batches: the checks are of steps of one batch."
    steps, ahead = min(s for *_, s, _ in plans), max(a for *_, a in plans)
    if steps < ahead + 2:  # possible where the ranks' loaders differ
        steps = 0
    with _kept(model, seen.optimizers):
        found = _measure(seen, passes, (steps, ahead), skipped)
    return found if "passes" in skipped else replace(found, loop_s=monitor.step_s())


def _measure(seen: Any, passes: tuple[bool, ...], loader: tuple[int, int], skipped: dict[str, str]) -> Report:
    """Time steps with averaging, without averaging, and with the loader.

    Args:
        seen: what the monitor has seen of the model, its arguments, optimizers and loader.
        passes: for each forward and backward pass of a step, whether it averages gradients.
        loader: number of steps that the loader can feed, and number of steps that its workers read ahead.
        skipped: what is not measured, and why.

    Returns:
        Seconds per step for each cycle of measurement.
    """
    model = seen.model
    arguments = seen.arguments()
    optimizers = seen.optimizers

    def step(sync: bool, read: Callable[[], object] = lambda: None) -> None:
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        for averaged in passes:
            read()
            autocast = (
                torch.autocast(seen.autocast[0], dtype=seen.autocast[1])
                if seen.autocast
                else contextlib.nullcontext()
            )
            with contextlib.nullcontext() if sync and averaged else model.no_sync():
                with autocast:
                    out = model(*arguments[0], **arguments[1])
                _loss(out).backward()
        for optimizer in optimizers:
            optimizer.step()

    step(True)
    cycles, steps = scheme(max(_of_all(_timed(lambda: step(True), 2))))
    synced, alone, real = [], [], []
    given: Any
    with _iterator(seen.loader) if loader[0] else contextlib.nullcontext() as given:

        def fed() -> None:
            step(True, given.__next__)

        cycles_fed = steps_fed = 0
        if loader[0]:
            began = time.perf_counter()
            fed()
            fed_s = max(_of_all(time.perf_counter() - began))
            cycles_fed, steps_fed = feeding(loader[0] - 1, loader[1], fed_s, cycles)
        for cycle in range(cycles):  # alternate, so that other load on the machine affects all kinds alike
            synced.append(_timed(lambda: step(True), steps))
            alone.append(_timed(lambda: step(False), steps))
            if cycle < cycles_fed:
                real.append(_timed(fed, steps_fed, loader[1]))
    return Report(tuple(synced), tuple(alone), tuple(real), skipped=skipped)


def _of_all(value: Any) -> list[Any]:
    """Gather a value from every rank, in order of ranks."""
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def _timed(step: Callable[[], None], steps: int, skipped: int = 1) -> float:
    """Time steps after a barrier.

    Args:
        step: runs one step.
        steps: number of steps to run, the skipped ones included.
        skipped: number of first steps that are not timed.

    Returns:
        Seconds per timed step.
    """
    dist.barrier()
    for _ in range(skipped):
        step()
    _settle()
    began = time.perf_counter()
    for _ in range(steps - skipped):
        step()
    _settle()
    return (time.perf_counter() - began) / (steps - skipped)


def _settle() -> None:
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _loss(out: Any) -> torch.Tensor:
    """A scalar to call `backward` on: the model's own loss, or the mean of its output tensors.

    Raises:
        CantRun: no output tensor requires a gradient.
    """
    found = out.get("loss") if isinstance(out, dict) else getattr(out, "loss", None)
    if isinstance(found, torch.Tensor) and found.requires_grad:
        return found
    tensors = [
        t
        for t in autograd.leaves(dict(out) if isinstance(out, dict) else out)
        if isinstance(t, torch.Tensor) and t.requires_grad
    ]
    if not tensors:
        raise CantRun(f"The model gives {type(out).__name__}, which nothing can be trained on.")
    return torch.stack([t.float().mean() for t in tensors]).sum()


def _steps(loader: Any, batches: int) -> tuple[int, int, str]:
    """How many steps a loader can feed.

    Args:
        loader: a DataLoader, or None.
        batches: batches that one step reads.

    Returns:
        Number of steps in the loader, number of steps that its workers read ahead, and the reason why it
        can't be checked (empty where it can).
    """
    if loader is None:
        return 0, 0, "No DataLoader that training has read is left: keep it in a variable to have it checked."
    if isinstance(loader.dataset, IterableDataset):
        return 0, 0, "The data is a stream, which can't be read without using it up."
    try:
        count = len(loader)
    except TypeError:
        return 0, 0, "The loader has no length."
    # batches that its workers may have prefetched before timing began
    ahead = 1 + loader.num_workers * (loader.prefetch_factor or 0) // batches
    if count // batches < FEWEST_STEPS + ahead - 1:
        return 0, 0, f"The loader has {count} batches, too few to tell."
    return count // batches, ahead, ""


@contextlib.contextmanager
def _iterator(loader: Any) -> Iterator[Any]:
    """A separate iterator over a loader, even where the loader has persistent workers; ends its workers."""
    generator = loader.generator
    state = generator.get_state() if generator is not None else None
    given = loaders.own_iterator(loader)
    try:
        yield given
    finally:
        loaders.end_workers(given)
        if state is not None:
            generator.set_state(state)


@contextlib.contextmanager
def _kept(model: Any, optimizers: list[Any]) -> Iterator[None]:
    """Restore everything that training steps change: parameters, gradients, optimizers, random numbers."""
    tensors = [*model.parameters(), *model.buffers()]
    values = [t.detach().clone() for t in tensors]
    grads = [(p, p.grad, None if p.grad is None else p.grad.clone()) for p in model.parameters()]
    modes = [(m, m.training) for m in model.modules()]
    states = [(o, {p: _copied(s) for p, s in o.state.items()}) for o in optimizers]
    numbers = torch.get_rng_state(), random.getstate()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    for parameter in model.parameters():
        parameter.grad = None
    model.train()
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in zip(tensors, values, strict=True):
                tensor.copy_(value)
            for parameter, grad, value in grads:
                parameter.grad = grad
                if grad is not None:
                    grad.copy_(value)  # in place: the gradient may be a view into a DDP bucket
            for optimizer, state in states:
                _put_back(optimizer, state)
        for module, mode in modes:
            module.training = mode
        torch.set_rng_state(numbers[0])
        random.setstate(numbers[1])
        if devices:
            torch.cuda.set_rng_state_all(devices)


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    return {k: v.detach().clone() if isinstance(v, torch.Tensor) else v for k, v in state.items()}


def _put_back(optimizer: Any, saved: dict[Any, dict[str, Any]]) -> None:
    for parameter in list(optimizer.state):
        if parameter not in saved:
            del optimizer.state[parameter]
            continue
        now = optimizer.state[parameter]
        for name in [n for n in now if n not in saved[parameter]]:
            del now[name]
        for name, value in saved[parameter].items():
            if isinstance(value, torch.Tensor) and isinstance(now.get(name), torch.Tensor):
                now[name].copy_(value)
            else:
                now[name] = value
