"""Repeats training steps, and puts back all that they change.

Parameters, buffers, gradients, optimizers and random-number states are restored. A loader is read through a
separate iterator.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist

from dtrain_lab.rank.monitor.last_training import LastTraining
from dtrain_lab.rank.torch import autograd, loaders
from dtrain_lab.training.batch_size.saved_state import random_restored, tensors_restored


class CantRun(Exception):
    """A training step can't be repeated on this rank; the message says why."""


class TooSlow(Exception):
    """A loader takes too long to be measured; the message is for the user, and the same on all ranks."""


class Replay:
    """A training step that repeats one batch.

    Args:
        last_training: the model, its optimizers, and arguments that it can make.
    """

    def __init__(self, last_training: LastTraining) -> None:
        self.model = last_training.model
        self.optimizers = last_training.optimizers
        arguments = last_training.arguments()
        assert arguments is not None  # `cannot_repeat` comes first
        self._arguments = arguments
        self._autocast = last_training.autocast

    def step(
        self,
        passes: tuple[bool, ...],
        *,
        sync: bool = True,
        read: Callable[[], object] = lambda: None,
    ) -> None:
        """Run a step.

        Args:
            passes: for each forward and backward pass, whether it averages gradients.
            sync: false to average none.
            read: called before each pass.
        """
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        for averaged in passes:
            read()
            with contextlib.nullcontext() if sync and averaged else self.model.no_sync():
                self._pass()
        for optimizer in self.optimizers:
            optimizer.step()

    def _pass(self) -> None:
        args, kwargs = self._arguments
        autocast = (
            torch.autocast(self._autocast[0], dtype=self._autocast[1])
            if self._autocast
            else contextlib.nullcontext()
        )
        with autocast:
            out = self.model(*args, **kwargs)
        _loss(out).backward()


def of_all(value: Any) -> list[Any]:
    """Gather a value from every rank, in order of ranks."""
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def timed(step: Callable[[], None], steps: int, skipped: int = 1, within_s: float | None = None) -> float:
    """Time steps after a barrier.

    Args:
        step: runs one step.
        steps: number of steps to run, the skipped ones included.
        skipped: number of first steps that are not timed.
        within_s: about the longest time for these, seconds. The ranks compare it after 1, 2, 4, 8, … steps:
            after each, workers of a loader would read on meanwhile.

    Returns:
        Seconds per timed step.

    Raises:
        TooSlow: the skipped steps take longer.
    """
    dist.barrier()
    began = time.perf_counter()
    for done in range(1, skipped + 1):
        step()
        if within_s is not None and done < skipped and not done & (done - 1):
            check_pace(done, skipped, float(max(of_all(time.perf_counter() - began))), within_s)
    _settle()
    began = time.perf_counter()
    for _ in range(steps - skipped):
        step()
    _settle()
    return (time.perf_counter() - began) / (steps - skipped)


def check_pace(done: int, ahead: int, took: float, within_s: float) -> None:
    """Check how long the steps take whose batches workers read ahead.

    Args:
        done: number of these steps so far.
        ahead: number of all of them.
        took: seconds so far, on the slowest rank.
        within_s: longest time for them, seconds.

    Raises:
        TooSlow: it took longer.
    """
    if took > within_s:
        raise TooSlow(
            f"The loader is too slow to measure: it fed {done} of the first {ahead} steps in {took:.0f} s. "
            "Their batches are read ahead, so they can't be timed. Fewer workers, or a smaller "
            "prefetch_factor, read less ahead."
        )


def step_times(step: Callable[[], None], steps: int) -> list[float]:
    """Time each of several steps with a clock that runs on between them.

    Args:
        step: runs one step.
        steps: number of steps to run.

    Returns:
        Seconds of each step; their sum is the time of all.
    """
    _settle()
    times = [time.perf_counter()]
    for _ in range(steps):
        step()
        _settle()
        times.append(time.perf_counter())
    return [after - before for before, after in itertools.pairwise(times)]


def _settle() -> None:
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _loss(out: Any) -> torch.Tensor:
    """A scalar to call `backward` on: the model's own loss, or the mean of its output tensors.

    Raises:
        CantRun: no output tensor requires a gradient.
    """
    loss = out.get("loss") if isinstance(out, dict) else getattr(out, "loss", None)
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        return loss
    tensors = [
        t
        for t in autograd.leaves(dict(out) if isinstance(out, dict) else out)
        if isinstance(t, torch.Tensor) and t.requires_grad
    ]
    if not tensors:
        raise CantRun(f"The model returns {type(out).__name__}, which can't be trained on.")
    return torch.stack([t.float().mean() for t in tensors]).sum()


@contextlib.contextmanager
def iterator(loader: Any) -> Iterator[Any]:
    """A separate iterator over a loader, even where the loader has persistent workers; ends its workers."""
    generator = loader.generator
    state = generator.get_state() if generator is not None else None
    own = loaders.own_iterator(loader)
    try:
        yield own
    finally:
        loaders.end_workers(own)
        if state is not None:
            generator.set_state(state)


@contextlib.contextmanager
def restored(model: Any, optimizers: list[Any]) -> Iterator[None]:
    """Restore everything that training steps change: parameters, gradients, optimizers, random numbers.

    Args:
        model: The model.
        optimizers: Its optimizers, whose state is kept as well.
    """
    parameters = list(
        dict.fromkeys(
            [*model.parameters(), *(p for o in optimizers for g in o.param_groups for p in g["params"])]
        )
    )
    modules = list(model.modules())
    with random_restored(), tensors_restored(parameters, modules, modules):
        # some optimizers keep their step count in the groups
        groups = [
            (g, _copied({k: v for k, v in g.items() if k != "params"}))
            for o in optimizers
            for g in o.param_groups
        ]
        states = [(o, {p: _copied(s) for p, s in o.state.items()}) for o in optimizers]
        for parameter in parameters:
            parameter.grad = None
        model.train()
        try:
            yield
        finally:
            with torch.no_grad():
                for optimizer, state in states:
                    _put_back(optimizer, state)
                for group, values in groups:
                    _assign(group, values)


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    return {k: v.detach().clone() if isinstance(v, torch.Tensor) else v for k, v in state.items()}


def _put_back(optimizer: Any, saved: dict[Any, dict[str, Any]]) -> None:
    for parameter in list(optimizer.state):
        if parameter not in saved:
            del optimizer.state[parameter]
            continue
        _assign(optimizer.state[parameter], saved[parameter])


def _assign(now: dict[str, Any], saved: dict[str, Any]) -> None:
    for name in [n for n in now if n not in saved and n != "params"]:
        del now[name]
    for name, value in saved.items():
        if isinstance(value, torch.Tensor) and isinstance(now.get(name), torch.Tensor):
            now[name].copy_(value)
        else:
            now[name] = value
