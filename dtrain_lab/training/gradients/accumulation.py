"""Gradient accumulation behind an unchanged loop: the optimizer steps with the mean of k batches.

Each batch's gradients are added to a sum of their own, apart from `p.grad`: whatever the loop does to
`p.grad` between (`zero_grad`, clipping, unscaling) happens to that batch's gradients only, and in the last
batch of a group to the group's mean, as with the large batch. The sum without the current batch is kept
until the batch counts, since `zero_grad` may discard the batch: memory for two more copies of the gradients.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.training import ranks
from dtrain_lab.training.gradients import accumulation_rules
from dtrain_lab.training.gradients.gradient_sums import GradientSums
from dtrain_lab.training.gradients.hooks import average, calling, tensors

_numbers = itertools.count()


class Accumulation:
    """Groups of batches of one optimizer. Not thread-safe; used by the training thread.

    Args:
        model: the model, wrapped in DDP if there are several ranks.
        optimizer: its `step` and `zero_grad` are replaced, and restored by `remove`.
        every: number of batches in a group.
    """

    def __init__(self, model: Any, optimizer: Any, every: int) -> None:
        self._model = weakref.ref(model)
        self._optimizer: weakref.ref[Any] = weakref.ref(optimizer)
        self.every = every
        self.number = next(_numbers)
        self.done = 0
        """Number of batches in this group so far."""
        self.averaged = True
        """Whether the last forward pass's gradients are averaged over the ranks (False under `no_sync`)."""
        self.resting = False
        self.scaler: Any = None
        """The GradScaler that has scaled this group's gradients; None without one."""
        self._read: set[object] = set()
        """Loader iterators from which the current batch was read; several if loaders are zipped."""
        self._sources: set[object] = set()
        """Loader iterators that the last trained batch came from."""
        self._over = False
        """Whether the loader of `_sources` is exhausted, and no other loader was read since."""
        self._flushing = False
        self.last = False
        """Whether the current loader has returned its last batch."""
        self._sums = GradientSums()
        self._loaded = False
        """Whether the sums are already in `p.grad`, in the last batch of a group."""
        self._before = optimizer.__dict__.get("step"), optimizer.__dict__.get("zero_grad")
        self._step: Callable[..., Any] = optimizer.step
        self._zero_grad: Callable[..., Any] = optimizer.zero_grad
        self._hooks: list[Any] = [
            model.register_forward_hook(calling(self, Accumulation._forwarded)),
            optimizer.register_state_dict_pre_hook(calling(self, Accumulation._saved)),
            optimizer.register_load_state_dict_post_hook(calling(self, Accumulation._loaded_state)),
        ]
        self._watched: dict[Any, tuple[Any, Any, Any]] = {}
        """Parameter → its dtype and device, and the node that adds gradients to `p.grad`."""
        self._install(optimizer)
        self._watch_parameters()
        self.sync()

    def _install(self, optimizer: Any) -> None:
        @functools.wraps(self._step)
        def step(_: Any, closure: Callable[[], Any] | None = None) -> Any:
            return self.step(closure)

        @functools.wraps(self._zero_grad)
        def zero_grad(_: Any, set_to_none: bool = True) -> None:
            self._sums.discard_current()
            self._loaded = False
            self._zero_grad(set_to_none=set_to_none)
            self._watch_parameters()  # a model that was moved has new nodes

        # methods, since schedulers of torch look for their `__func__`
        optimizer.step = MethodType(step, optimizer)
        optimizer.zero_grad = MethodType(zero_grad, optimizer)
        optimizer.flush = self.flush

    def remove(self) -> None:
        """Restore the original behaviour of optimizer and model; an unfinished group is discarded."""
        optimizer, model = self._optimizer(), self._model()
        for hook in self._hooks:
            hook.remove()
        for name, before in zip(("step", "zero_grad"), self._before, strict=True):
            optimizer.__dict__.pop(name, None)
            if before is not None:
                optimizer.__dict__[name] = before
        optimizer.__dict__.pop("flush", None)
        self._forget()
        self._sums.free()
        if isinstance(model, DistributedDataParallel):
            model.require_backward_grad_sync = True

    @property
    def optimizer(self) -> Any:
        """The optimizer; None once it is garbage-collected."""
        return self._optimizer()

    @property
    def model(self) -> Any:
        """The model; None once it is garbage-collected."""
        return self._model()

    @property
    def final(self) -> bool:
        """Whether the current batch is the last one of its group."""
        return self.done + 1 >= self.every or self.last or self._flushing

    @property
    def _alone(self) -> bool:
        """Whether the current batch forms a group of its own, whose gradients are used unchanged."""
        return self.resting or (self.final and not self.done)

    def sync(self) -> None:
        """Let DDP average the gradients of the current batch only if the optimizer steps with them."""
        model = self._model()
        if isinstance(model, DistributedDataParallel):
            model.require_backward_grad_sync = self.resting or self.final  # what `no_sync` sets

    def gave(self, iterator: object, last: bool) -> None:
        """Called when a loader has returned a batch.

        Args:
            iterator: the loader's iterator.
            last: whether it is the loader's last one.
        """
        if self.resting:
            return
        self._read.add(iterator)
        self.last, self._over = last, False
        self.sync()

    def ended(self, iterator: object) -> None:
        """Called when a loader is exhausted; steps with an incomplete group of its batches."""
        self.last = False
        if self.resting:
            return
        if iterator in self._sources:
            self.flush()
            self._over = True
        self._read.discard(iterator)
        self._sources.discard(iterator)
        self.sync()

    # ---- gradients

    def _parameters(self) -> list[Any]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def _watch_parameters(self) -> None:
        for parameter in self._parameters():
            where = parameter.dtype, parameter.device
            if parameter.requires_grad and self._watched.get(parameter, ())[:2] != where:
                node = torch.autograd.graph.get_gradient_edge(parameter).node
                self._watched[parameter] = *where, node  # torch drops it unless it is referenced
                arriving = functools.partial(calling(self, Accumulation._arriving), parameter)
                self._hooks.append(node.register_prehook(arriving))

    def _arriving(self, parameter: Any, gradients: tuple[torch.Tensor | None, ...]) -> Any:
        """Called before a gradient is added to `p.grad`: after all hooks on it, before those on the sum.

        Returns:
            What is added instead; None to leave it.
        """
        if self._alone or gradients[0] is None:
            return None
        gradient = gradients[0]
        if self.final:
            if not self._loaded or (parameter.grad is None and parameter in self._sums):
                self._load()  # not yet done if the model returns an object that is not inspected
            return (gradient / (self.done + 1),)
        self._sums.add(parameter, gradient)
        return None

    def _forwarded(self, _: Any, __: Any, output: Any) -> None:
        """In a group's last batch, arrange that the sums are put into `p.grad` when backward begins."""
        if torch.is_grad_enabled():
            self.averaged = self.resting or self.final
        if self.resting or not self.final or not self.done or not torch.is_grad_enabled():
            return
        for tensor in tensors(output):
            if tensor.requires_grad:
                tensor.register_hook(calling(self, Accumulation._load))

    def _load(self, _: Any = None) -> None:
        # sums that are gone from `p.grad` again were discarded by `zero_grad` of the model
        there = self._loaded and self._sums.all_in_grad()
        if there or self.resting or not self.final or not self.done:
            return
        self._loaded = True
        self._sums.put(1 / (self.done + 1))

    def rescale(self, factor: float) -> None:
        """Called when the GradScaler has changed its scale within a group: rescale the sums."""
        self._sums.rescale(factor)

    # ---- steps

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Replaces the optimizer's `step`.

        Args:
            closure: computes the gradients and returns the loss.

        Returns:
            The loss that the closure returned; None without one.
        """
        if self.resting:
            return self._step() if closure is None else self._step(closure)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self.final:
            self._warn_read_ahead()
            if not self._loaded and self.done:  # backward did not pass through the model's output
                self._sums.put(1 / (self.done + 1))
            self._step()
            self._forget()
        else:
            self.commit()
        self._watch_parameters()
        return loss

    def _warn_read_ahead(self) -> None:
        if self._over and not self._flushing:
            ranks.say(accumulation_rules.READ_AHEAD)

    def skipped(self) -> None:
        """Called when all ranks skip the group's step because of infinite gradients."""
        self._forget()

    def commit(self) -> None:
        """Add this batch's gradients to the group."""
        self._warn_read_ahead()
        self._sums.count()
        self._sources, self._read, self.last = self._read or self._sources, set(), False
        self.done += 1
        self.sync()

    def flush(self) -> None:
        """Step with the mean of an incomplete group, if there is one; a collective.

        The end of a DataLoader does so by itself; call it at the end of other data.
        """
        if not self.done:
            return
        optimizer = self.optimizer
        if isinstance(self._model(), DistributedDataParallel):
            accumulation_rules.meet_before_flush(self._model(), self.done)
        self._zero_grad(set_to_none=True)
        self._sums.put(1 / self.done)
        if isinstance(self._model(), DistributedDataParallel):
            average(self._model(), self._parameters())
        self._loaded = self._flushing = True
        try:
            scaler = self.scaler  # read it first: ending the group resets it
            if scaler is None:
                optimizer.step()
            else:
                scaler.step(optimizer)
                scaler.update()
        finally:
            self._flushing = False
        self._zero_grad(set_to_none=True)
        self._forget()

    def _loaded_state(self, *_: Any) -> None:
        if not self.resting:  # otherwise the caller restores the earlier state
            self._forget()

    def _forget(self) -> None:
        self._sums.clear()
        self._sources, self._read = self._read or self._sources, set()
        self.done, self._loaded, self.last, self.scaler = 0, False, False, None
        self.sync()

    def _saved(self, *_: Any) -> None:
        if self.done and not self.resting:  # otherwise it is our own copy, made to restore the state
            ranks.say(accumulation_rules.saved(self.done, self.every))

    def __del__(self) -> None:
        if self.__dict__.get("done"):
            ranks.say(accumulation_rules.unfinished(self.done, self.every))
