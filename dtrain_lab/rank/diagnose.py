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
from msgspec.structs import replace
from torch.utils.data import IterableDataset

from dtrain_lab.core.diagnosis import FEWEST_STEPS, MARK, Report, feeding, scheme
from dtrain_lab.rank.monitor import Monitor
from dtrain_lab.rank.monitor.seen import ONE_PASS

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
    passes = seen.passes
    steps = ahead = 0
    if not problem:
        steps, ahead, why = _steps(seen.loader, len(passes))
        if why:
            skipped["data"] = why
    # nobody begins unless all can: the others would wait for ever
    plans = _of_all((problem, passes, steps, ahead))
    problem = next((p for p, *_ in plans if p), "")
    if problem:
        return Report(rank, error=problem)
    if any(p != passes for _, p, *_ in plans):
        passes = ONE_PASS
        skipped["passes"] = "The ranks' steps differ in their batches: the checks are of steps of one batch."
    steps, ahead = min(s for *_, s, _ in plans), max(a for *_, a in plans)
    if steps < ahead + 2:  # loaders that differ between ranks
        steps = 0
    with _kept(model, seen.optimizers):
        found = _measure(seen, rank, passes, (steps, ahead), skipped)
    return found if "passes" in skipped else replace(found, loop_s=monitor.step_s())


def _measure(
    seen: Any, rank: int, passes: tuple[bool, ...], loader: tuple[int, int], skipped: dict[str, str]
) -> Report:
    """Args: `passes`: of a step, whether each is averaged; `loader`: steps that it feeds, and reads ahead."""
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
        for cycle in range(cycles):  # in turn: what others do on these processors meets all kinds
            synced.append(_timed(lambda: step(True), steps))
            alone.append(_timed(lambda: step(False), steps))
            if cycle < cycles_fed:
                real.append(_timed(fed, steps_fed, loader[1]))
    return Report(rank, tuple(synced), tuple(alone), tuple(real), skipped=skipped)


def _of_all(value: Any) -> list[Any]:
    """What each rank gave."""
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def _timed(step: Callable[[], None], steps: int, skipped: int = 1) -> float:
    """Seconds a step, the first ones not counted; all ranks begin together."""
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
    """A number to go backward from: the model's own loss, else the mean of what it gives."""
    found = out.get("loss") if isinstance(out, dict) else getattr(out, "loss", None)
    if isinstance(found, torch.Tensor) and found.requires_grad:
        return found
    leaves, _ = torch.utils._pytree.tree_flatten(dict(out) if isinstance(out, dict) else out)
    tensors = [t for t in leaves if isinstance(t, torch.Tensor) and t.requires_grad]
    if not tensors:
        raise CantRun(f"The model gives {type(out).__name__}, which nothing can be trained on.")
    return torch.stack([t.float().mean() for t in tensors]).sum()


def _steps(loader: Any, batches: int) -> tuple[int, int, str]:
    """How many steps of so many batches a loader has, and reads ahead; why it can't be checked, if so."""
    if loader is None:
        return 0, 0, "No DataLoader that training has read is left: keep it in a variable to have it checked."
    if isinstance(loader.dataset, IterableDataset):
        return 0, 0, "The data is a stream, which can't be read without using it up."
    try:
        count = len(loader)
    except TypeError:
        return 0, 0, "The loader has no length."
    # what its workers have read while it stood
    ahead = 1 + loader.num_workers * (loader.prefetch_factor or 0) // batches
    if count // batches < FEWEST_STEPS + ahead - 1:
        return 0, 0, f"The loader has {count} batches, too few to tell."
    return count // batches, ahead, ""


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
