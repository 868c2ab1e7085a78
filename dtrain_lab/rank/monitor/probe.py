"""The deferred-sync probe: in some steps gradients are averaged after backward instead of during it.

Such a step shows how long computation takes without communication, even where the two usually overlap.
Parameters are bitwise the same with and without the probe: the same buckets are summed, in the same order of
ranks.

All ranks have to probe the same step. So they count synced backward passes since their cell began, a number
that is the same on every rank of a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.step.models import Model, Models
from dtrain_lab.rank.monitor.step.recorder import Recorder
from dtrain_lab.rank.torch import autograd, ddp
from dtrain_lab.training.gradients import unused

FIRST = tuple(range(8, 104, 6))
"""Synced backward passes of a cell that are probed first, so that a metric is known early."""
EVERY = 32
"""Later one pass in `EVERY` is probed, because a probe costs what overlap would have saved."""
Buckets = list[list[torch.Tensor]]
OPERATION = ring.OPERATION_INDEX["DDP's all_reduce"]


def next_probe(passes: int) -> int:
    """The number of synced backward passes before the next one that is probed, from `passes` on."""
    regular = max(EVERY, -(-passes // EVERY) * EVERY)
    return min((count for count in FIRST if passes <= count < regular), default=regular)


class Probes:
    """Decides which steps are probed, and runs the probes of this process.

    Args:
        recorder: records the steps.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.armed: list[_Armed] = []
        self.models = Models(lambda: next_probe(0))
        self.forwards: dict[Model, int] = {}
        """For each model whose backward is still to come, the collectives begun in its group so far."""
        self._buckets: WeakKeyDictionary[Any, tuple[Any, Buckets]] = WeakKeyDictionary()
        self._refused: WeakSet[Any] = WeakSet()
        """Models whose backward passes leave gradients undefined, which DDP takes for zeros."""
        self.on = True

    def begin_cell(self) -> None:
        """Forget everything of the last cell, which an interrupt may have left unfinished."""
        for armed in self.armed:
            armed.disarm()
        self.armed.clear()
        self.forwards.clear()
        self.models.begin_cell()

    def end_cell(self) -> None:
        """Called when a cell has ended."""
        self.models.end_cell()

    def can_probe(self, module: Any) -> bool:
        """Whether this forward pass of a DDP model can be probed, where one is due."""
        return self.on and module not in self._refused and ddp.can_be_probed(module)

    def backward_ended(self) -> None:
        """Count the models synced in a backward pass; numbers of forward passes may differ between ranks."""
        for model, number in list(self.forwards.items()):
            if model.begun() != number:
                del self.forwards[model]
                model.passes += 1
                if model.passes > model.next_probe:
                    model.next_probe = next_probe(model.passes)

    def forward(self, module: Any, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a forward pass whose backward is to be probed.

        Args:
            module: the DDP model.
            original: DDP's own forward.
            args: positional arguments of the pass.
            kwargs: keyword arguments of the pass.

        Returns:
            The model's output.
        """
        for armed in [a for a in self.armed if a.module is module]:
            armed.disarm()
            self.armed.remove(armed)
        module.require_backward_grad_sync = False
        try:
            out = original(module, *args, **kwargs)
        finally:
            module.require_backward_grad_sync = True
            module.require_forward_param_sync = True
        self.armed.append(_Armed(module, self._average, out))
        return out

    def backward_begins(self) -> None:
        """Record the gradients that exist before a backward pass."""
        for armed in self.armed:
            armed.backward_begins()

    def check(self, module: Any) -> None:
        """Called before a DDP model's forward pass. DDP raises an error after an incomplete backward.

        This does the same after a probed backward; otherwise a step without averaging would go unnoticed.

        Raises:
            UnusedParameters: parameters got no gradient in the probed backward pass.
        """
        for armed in [a for a in self.armed if a.module is module]:
            if not armed.partial:
                armed.outputs = None  # its graph may be large, and backward may never come
                continue
            left = armed.left_out()
            armed.disarm()
            self.armed.remove(armed)
            if left:
                raise unused.unfinished(module, left)
            self._refused.add(module)

    def stepping(self, optimizer: Any) -> None:
        """Called before an optimizer steps: average gradients that a backward pass has left undefined.

        DDP takes them for zeros. They come from the user's own autograd functions only.

        Args:
            optimizer: the optimizer.
        """
        for armed in [a for a in self.armed if a.partial]:
            its = {id(p) for group in optimizer.param_groups for p in group["params"]}
            if armed.shares(its) and not armed.left_out():
                self._refused.add(armed.module)
                armed.complete()

    def finish(self) -> None:
        """Average the gradients that a backward pass has completed, unless that was done already."""
        for armed in list(self.armed):
            armed.finish()

    def _average(self, armed: _Armed) -> None:
        self.armed.remove(armed)
        module = armed.module
        with self._recorder.averaging(OPERATION), torch.no_grad():
            average(module, self._buckets_of(module))

    def _buckets_of(self, module: Any) -> Buckets:
        """The parameters of each of DDP's buckets, on which the order of a sum's terms depends."""
        cached = self._buckets.get(module)
        if cached is None or cached[0] is not module.reducer:
            cached = module.reducer, ddp.buckets(module)
            self._buckets[module] = cached
        return cached[1]


class _Armed:
    """A model whose next backward is probed: its gradients are averaged once all of them are complete.

    A hook on each parameter would tell when that is, but would add 40 µs each to the backward that is
    measured. Instead a single hook runs the averaging at the end of backward, where DDP's own would end;
    the versions of gradients show which ones are complete. A backward that reaches only some parameters
    leaves the others to the next one.
    """

    def __init__(self, module: Any, average: Callable[[_Armed], None], out: Any) -> None:
        self.module = module
        self.outputs = out
        self._average: Callable[[_Armed], None] | None = average
        self._parameters = [p for p in ddp.parameters(module) if p.requires_grad]
        self._missing = set(range(len(self._parameters)))
        self._before: list[tuple[int, int]] | None = None
        self._hook = self._parameters[0].register_post_accumulate_grad_hook(self._reached)

    def backward_begins(self) -> None:
        """Record the versions of the gradients before this backward."""
        self._before = [_mark(p) for p in self._parameters]

    def _reached(self, _: torch.Tensor) -> None:
        autograd.at_end_of_backward(self.finish)

    def finish(self) -> None:
        """Average the gradients if all are complete and that was not done yet."""
        if self._average is None:
            return
        if self._before is None:
            self._missing.clear()  # no hook saw the start; DDP's backward reaches all parameters
        else:
            now = zip(self._parameters, self._before, strict=True)
            self._missing -= {index for index, (p, before) in enumerate(now) if _mark(p) != before}
        if not self._missing:
            self.complete()

    def complete(self) -> None:
        """Average the gradients now."""
        average, self._average = self._average, None
        self.disarm()
        if average is not None:
            average(self)

    def shares(self, parameters: set[int]) -> bool:
        """Whether one of these, by id, is a parameter whose gradient this averages."""
        return any(id(p) in parameters for p in self._parameters)

    @property
    def missing(self) -> set[int]:
        """Ids of the parameters without a gradient."""
        return {id(self._parameters[index]) for index in self._missing}

    @property
    def partial(self) -> bool:
        """Whether some gradients have come, and others have not."""
        return self._average is not None and len(self._missing) < len(self._parameters)

    def left_out(self) -> list[str]:
        """Names of the parameters without a gradient that the model's output does not depend on.

        Empty if unknown.
        """
        if self.outputs is None:
            return []
        missing = self.missing - {id(variable) for variable in autograd.variables(self.outputs)}
        return [name for name, p in self.module.module.named_parameters() if id(p) in missing]

    def disarm(self) -> None:
        """Cancel the probe."""
        self._hook.remove()
        self._average = None
        self.outputs = None


def _mark(parameter: torch.Tensor) -> tuple[int, int]:
    """A value that changes when a parameter's gradient is added to or replaced."""
    grad = parameter.grad
    return (0, 0) if grad is None else (id(grad), autograd.version(grad))


def average(module: Any, buckets: Buckets) -> None:
    """Average gradients over the model's group bucket by bucket, as DDP does: divide first, then sum.

    Args:
        module: the DDP model.
        buckets: the parameters of each bucket.
    """
    group = module.process_group
    share = 1.0 / dist.get_world_size(group)
    # wait for all ranks: where they share cores, an early rank would take them from ranks that still compute
    c10d.all_reduce(torch.zeros(1), group=group)
    under_way = []
    for bucket in buckets:
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in bucket]
        flat = autograd.flatten(grads)
        flat.mul_(share)
        under_way.append((grads, flat, c10d.all_reduce(flat, group=group, async_op=True)))
    for grads, flat, work in under_way:
        work.wait()
        autograd.copy_back(flat, grads)
