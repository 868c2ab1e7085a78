"""The deferred-sync probe: now and then a step whose gradients are averaged after backward, not during it.

Then the step's own computation can be told from communication, also from what overlaps with it. Parameters
are bitwise the same with and without: the same buckets are summed, in the same order of ranks.

All ranks have to probe the same step. They count backward passes that were synced since their cell began,
which every rank of a model has the same number of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.core.estimate import ring
from dtrain_lab.rank.monitor.recorder import Recorder
from dtrain_lab.rank.numbers import backends

FIRST = tuple(range(8, 104, 6))
"""The first probes of a cell, in synced backward passes: a figure is there early."""
EVERY = 32
"""Then one in so many: a probe costs what overlap had saved."""
SPARSE = (torch.nn.Embedding, torch.nn.EmbeddingBag)
"""Modules whose gradients may be sparse, which can't be put into buckets."""
Buckets = list[list[torch.Tensor]]
OPERATION = ring.OPERATION_INDEX["backward_sync"]


class Probes:
    """The probes of this process.

    Args:
        recorder: of its steps.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.armed: list[_Armed] = []
        self._counts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        """Model → synced backward passes since the cell began. Not kept in the model: a copy that came from
        another rank would bring that rank's count, and ranks would probe different steps."""
        self._forwarded: dict[Any, int] = {}
        """Models whose backward is to come → collectives that their group had begun by then."""
        self._backends: dict[Any, list[Any]] = {}
        """Of those models' groups, in this cell: between cells a world may be rebuilt."""
        self._buckets: WeakKeyDictionary[Any, tuple[Any, Buckets]] = WeakKeyDictionary()
        self.on = True

    def begin_cell(self) -> None:
        """A cell begins: nothing of the last one is under way, also after an interrupt."""
        for armed in self.armed:
            armed.disarm()
        self.armed.clear()
        self._counts.clear()
        self._forwarded.clear()
        self._backends.clear()

    def end_cell(self) -> None:
        """It has ended."""
        self._backends.clear()

    def due(self, module: Any) -> bool:
        """Is this forward pass of a DDP model, which will be synced, to be probed?"""
        count = self._counts.get(module, 0)
        return self.on and (count in FIRST or (count > 0 and count % EVERY == 0)) and possible(module)

    def forwarded(self, module: Any) -> None:
        """A forward pass that will be synced is done."""
        self._forwarded[module] = self._begun(module)

    def backward_ended(self) -> None:
        """Count the models that were synced in it: forward passes alone may differ between ranks."""
        for module, number in list(self._forwarded.items()):
            if self._begun(module) != number:
                self._counts[module] = self._counts.get(module, 0) + 1
                del self._forwarded[module]

    def _begun(self, module: Any) -> int:
        """Collectives begun in the model's group. Asked twice a step, so its back-ends are kept."""
        group = module.process_group
        known = self._backends.get(group)
        if known is None:
            known = self._backends[group] = backends(group)
        number = 0
        for backend in known:
            number += backend._get_sequence_number_for_group()
        return number

    def forward(self, module: Any, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A forward pass whose backward is to be probed."""
        for armed in [a for a in self.armed if a.module is module]:
            armed.disarm()
            self.armed.remove(armed)
        module.require_backward_grad_sync = False
        try:
            out = original(module, *args, **kwargs)
        finally:
            module.require_backward_grad_sync = True
            module.require_forward_param_sync = True
        self.armed.append(_Armed(module, self._average))
        return out

    def backward_begins(self) -> None:
        """A backward pass begins: what gradients it finds."""
        for armed in self.armed:
            armed.backward_begins()

    def finish(self) -> None:
        """A backward pass has ended: average what it completed, where that is not done yet."""
        for armed in list(self.armed):
            armed.finish()

    def _average(self, armed: _Armed) -> None:
        self.armed.remove(armed)
        module = armed.module
        with self._recorder.averaging(OPERATION), torch.no_grad():
            average(module, self._buckets_of(module))

    def _buckets_of(self, module: Any) -> Buckets:
        """The parameters of each of DDP's own buckets: the order of a sum's terms depends on them."""
        known = self._buckets.get(module)
        if known is None or known[0] is not module.reducer:
            made = module.reducer._get_zeros_like_grad_buckets()
            known = module.reducer, [list(bucket.parameters()) for bucket in made]
            self._buckets[module] = known
        return known[1]


class _Armed:
    """A model whose next backward is probed: once all of its gradients are there, they are averaged.

    A hook on each parameter would tell when that is, and cost the backward that is measured 40 µs for each.
    One hook has averaging run at the end of backward, where DDP's own would be; which gradients are there is
    seen by their versions. A backward that reaches only some of them leaves the others to the next one.
    """

    def __init__(self, module: Any, average: Callable[[_Armed], None]) -> None:
        self.module = module
        self._average: Callable[[_Armed], None] | None = average
        self._parameters = [p for p in module._module_parameters if p.requires_grad]
        self._missing = set(range(len(self._parameters)))
        self._before: list[tuple[int, int]] | None = None
        self._hook = self._parameters[0].register_post_accumulate_grad_hook(self._reached)

    def backward_begins(self) -> None:
        """What gradients this backward finds."""
        self._before = [_mark(p) for p in self._parameters]

    def _reached(self, _: torch.Tensor) -> None:
        torch.autograd.Variable._execution_engine.queue_callback(self.finish)

    def finish(self) -> None:
        """Average, if every gradient is there and they are not averaged yet."""
        if self._average is None:
            return
        if self._before is None:
            self._missing.clear()  # nobody saw it begin; backward of DDP's models reaches all parameters
        else:
            now = zip(self._parameters, self._before, strict=True)
            self._missing -= {index for index, (p, before) in enumerate(now) if _mark(p) != before}
        if not self._missing:
            average, self._average = self._average, None
            self.disarm()
            average(self)

    def disarm(self) -> None:
        """Leave its next backward alone."""
        self._hook.remove()
        self._average = None


def _mark(parameter: torch.Tensor) -> tuple[int, int]:
    """Changes when something is added to the gradient of a parameter, or it gets another one."""
    grad = parameter.grad
    return (0, 0) if grad is None else (id(grad), grad._version)


def possible(module: Any) -> bool:
    """Whether this model can be probed without any risk for its results."""
    return not (
        module.find_unused_parameters
        or module.static_graph
        or module._comm_hooks
        or module.mixed_precision is not None
        or module._join_config.enable
        or module._use_python_reducer
        or getattr(module, "_delay_all_reduce_all_params", False)
        or module.device_type == "cuda"  # what averaging takes there only the device knows
        or torch.compiler.is_compiling()
        or any(isinstance(part, SPARSE) and part.sparse for part in module.module.modules())
        or any(p._post_accumulate_grad_hooks for p in module._module_parameters)
    )


def average(module: Any, buckets: Buckets) -> None:
    """Average gradients over the model's group, bucket by bucket, as DDP does: divided first, then summed."""
    group = module.process_group
    share = 1.0 / dist.get_world_size(group)
    # where ranks share processors, one that is done early would take them from those that still compute
    c10d.all_reduce(torch.zeros(1), group=group)
    under_way = []
    for bucket in buckets:
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in bucket]
        flat = torch._utils._flatten_dense_tensors(grads)
        flat.mul_(share)
        under_way.append((grads, flat, c10d.all_reduce(flat, group=group, async_op=True)))
    for grads, flat, work in under_way:
        work.wait()
        torch._foreach_copy_(grads, list(torch._utils._unflatten_dense_tensors(flat, grads)))
