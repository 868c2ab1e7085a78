"""`diagnose` on a rank: training steps run again, with and without averaging, with and without the loader.

All of it is put back: parameters, buffers, gradients, optimizers, random numbers. The loader is read by an
iterator of its own.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import torch
import torch.distributed as dist
from torch.utils.data import IterableDataset

from dtrain_lab.core.diagnosis import MARK, Report
from dtrain_lab.rank.monitor import Monitor

CYCLES, STEPS = 5, 4
"""Steps of a kind in a row; the first of them is not counted."""
FEWEST_BATCHES = 4
NOTHING = "No DDP model has trained in this cluster yet: train a few steps, then diagnose."


class CantRun(Exception):
    """Such a step can't be run here; its text says why."""


def report(monitor: Monitor | None, rank: int) -> str:
    """Run both checks; a collective over all ranks. Returns a `Report` as JSON, behind `MARK`."""
    found = Report(rank, error="The monitor is off (--no-monitor): start the cluster with it.")
    if monitor is not None:
        with monitor.recorder.resting():
            found = _report(monitor, rank)
    return MARK + msgspec.json.encode(found).decode()


def _report(monitor: Monitor, rank: int) -> Report:
    seen = monitor.seen
    model, skipped = seen.model, {}
    problem = ""
    if model is None:
        problem = NOTHING
    elif not seen.repeatable:
        problem = f"{type(model.module).__name__} takes arguments that can't be made again."
    batches = 0
    if not problem:
        batches, why = _batches(seen.loader)
        if why:
            skipped["data"] = why
    # nobody begins unless all can: the others would wait for ever
    plans: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(plans, (problem, batches))
    problem = next((p for p, _ in plans if p), "")
    if problem:
        return Report(rank, error=problem)
    batches = min(b for _, b in plans)
    with _kept(model, seen.optimizers):
        return _measure(seen, rank, batches, skipped)


def _measure(seen: Any, rank: int, batches: int, skipped: dict[str, str]) -> Report:
    model = seen.model
    arguments = seen.arguments()
    optimizers = seen.optimizers

    def step(sync: bool) -> None:
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        autocast = (
            torch.autocast(seen.autocast[0], dtype=seen.autocast[1])
            if seen.autocast
            else contextlib.nullcontext()
        )
        with contextlib.nullcontext() if sync else model.no_sync():
            with autocast:
                out = model(*arguments[0], **arguments[1])
            _loss(out).backward()
        for optimizer in optimizers:
            optimizer.step()

    for _ in range(2):
        step(True)
    synced, alone = [], []
    for _ in range(CYCLES):
        synced.append(_timed(lambda: step(True), STEPS))
        alone.append(_timed(lambda: step(False), STEPS))
    real: list[float] = []
    if batches >= FEWEST_BATCHES:
        with _iterator(seen.loader) as given:

            def fed() -> None:
                next(given)
                step(True)

            fed()
            count = max(2, (batches - 1) // CYCLES)
            for _ in range(min(CYCLES, (batches - 1) // count)):
                real.append(_timed(fed, min(count, 4 * STEPS)))
    return Report(rank, tuple(synced), tuple(alone), tuple(real), skipped)


def _timed(step: Callable[[], None], steps: int) -> float:
    """Seconds a step; all ranks begin together."""
    dist.barrier()
    step()
    _settle()
    began = time.perf_counter()
    for _ in range(steps - 1):
        step()
    _settle()
    return (time.perf_counter() - began) / (steps - 1)


def _settle() -> None:
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _loss(out: Any) -> torch.Tensor:
    """A number to go backward from: the model's own loss, else the mean of what it gives."""
    found = out.get("loss") if isinstance(out, dict) else getattr(out, "loss", None)
    if isinstance(found, torch.Tensor) and found.requires_grad:
        return found
    leaves, _ = torch.utils._pytree.tree_flatten(dict(out) if isinstance(out, dict) else out)
    tensors = [t for t in leaves if isinstance(t, torch.Tensor) and t.requires_grad]
    if not tensors:
        raise CantRun(f"The model gives {type(out).__name__}, which nothing can be trained on.")
    return torch.stack([t.float().mean() for t in tensors]).sum()


def _batches(loader: Any) -> tuple[int, str]:
    if loader is None:
        return 0, "No DataLoader is left that training has read: keep it in a variable, to have it checked."
    if isinstance(loader.dataset, IterableDataset):
        return 0, "The data is a stream, which can't be read without using it up."
    try:
        count = len(loader)
    except TypeError:
        return 0, "The loader has no length."
    if count < FEWEST_BATCHES:
        return count, f"The loader has {count} batches, too few to tell."
    return count, ""


@contextlib.contextmanager
def _iterator(loader: Any) -> Iterator[Any]:
    """An iterator of its own, also of a loader that keeps one."""
    generator = loader.generator
    state = generator.get_state() if generator is not None else None
    given = loader._get_iterator()
    try:
        yield given
    finally:
        if hasattr(given, "_shutdown_workers"):
            given._shutdown_workers()
        if state is not None:
            generator.set_state(state)


@contextlib.contextmanager
def _kept(model: Any, optimizers: list[Any]) -> Iterator[None]:
    """Everything that steps change is as before in the end."""
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
                    grad.copy_(value)  # it may be a view into a bucket
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
