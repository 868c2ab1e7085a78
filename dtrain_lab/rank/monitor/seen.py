"""What trained last on this rank: enough to run such a step again, and nothing that keeps memory alive."""

from __future__ import annotations

import weakref
from collections import Counter, deque
from typing import Any

import torch
from msgspec import Struct
from torch.utils import _pytree as pytree

PLAIN = (int, float, bool, str, type(None))
MOST_PASSES = 256
"""Of a step. A loop without an optimizer has steps without end."""
ONE_PASS = (True,)


class Shape(Struct, frozen=True):
    """A tensor without its numbers."""

    size: tuple[int, ...]
    dtype: Any
    device: Any

    def make(self) -> torch.Tensor:
        """Another one of its kind. Whole numbers are 0: an index that is always valid."""
        if self.dtype.is_floating_point:
            return torch.randn(self.size, dtype=self.dtype, device=self.device)
        return torch.zeros(self.size, dtype=self.dtype, device=self.device)


class Seen:
    """The model, optimizers and loader of the last training steps."""

    def __init__(self) -> None:
        self._model: weakref.ref[Any] | None = None
        self._optimizers: dict[int, weakref.ref[Any]] = {}
        self._loader: weakref.ref[Any] | None = None
        self._ran: weakref.ref[Any] | None = None
        self._last: tuple[int, ...] = ()
        self._arguments: Any = None
        self._size = 0
        self._first: tuple[int, ...] = ()
        self.autocast: tuple[str, Any] | None = None
        self._passes: list[bool] = []
        """Of the step that is under way."""
        self._steps: deque[tuple[bool, ...]] = deque(maxlen=8)
        """Passes of each of the last steps."""

    @property
    def model(self) -> Any:
        """The DDP model that ran last; None where it is gone."""
        return self._model() if self._model is not None else None

    @property
    def optimizers(self) -> list[Any]:
        """Optimizers of this model that are alive."""
        mine = {id(p) for p in self.model.parameters()} if self.model is not None else set()
        alive = [o for ref in self._optimizers.values() if (o := ref()) is not None]
        return [o for o in alive if any(id(p) in mine for g in o.param_groups for p in g["params"])]

    @property
    def loader(self) -> Any:
        """The loader that training read last; None where it is gone."""
        return self._loader() if self._loader is not None else None

    @property
    def passes(self) -> tuple[bool, ...]:
        """Forward passes of one step of this model, as most of the last had them: whether each was averaged.

        More than one where batches are accumulated.
        """
        return Counter(self._steps).most_common(1)[0][0] if self._steps else ONE_PASS

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Arguments like those of the largest of the last forward passes; None where they can't be made."""
        if self._arguments is None:
            return None
        made: tuple[tuple[Any, ...], dict[str, Any]] = pytree.tree_map(
            lambda leaf: leaf.make() if isinstance(leaf, Shape) else leaf, self._arguments
        )
        return made

    @property
    def repeatable(self) -> bool:
        """Whether `arguments` can make some."""
        return self._arguments is not None

    def again(self, model: Any, shape: tuple[int, ...]) -> bool:
        """Is it the same model, with a batch of the same shape, as the last time?"""
        if shape == self._last and self._ran is not None and self._ran() is model:
            return True
        self._ran, self._last = weakref.ref(model), shape
        return False

    def forward(self, model: Any, first: torch.Tensor | None, args: Any, kwargs: Any) -> None:
        """A forward pass of training begins. `first`: the first tensor of its batch."""
        shape = tuple(first.shape) if first is not None else ()
        size = first.numel() if first is not None else 0
        if self.model is model and (shape == self._first or size < self._size):
            return
        if self.model is not model:
            self._model = weakref.ref(model)
            self._passes.clear()
            self._steps.clear()
        self._first, self._size = shape, size
        leaves, _ = pytree.tree_flatten((args, kwargs))
        if all(isinstance(leaf, (torch.Tensor, *PLAIN)) for leaf in leaves):
            self._arguments = pytree.tree_map(_shape_of, (args, kwargs))
        else:
            self._arguments = None
        kind = first.device.type if first is not None else "cpu"
        self.autocast = (kind, torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else None

    def passed(self, model: Any, syncs: bool) -> None:
        """A forward pass of training begins. `syncs`: gradients will be averaged after it."""
        if self._model is not None and self._model() is model and len(self._passes) < MOST_PASSES:
            self._passes.append(syncs)

    def stepped(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        if self._passes:
            self._steps.append(tuple(self._passes))
            self._passes.clear()
        if id(optimizer) not in self._optimizers or self._optimizers[id(optimizer)]() is None:
            self._optimizers = {k: r for k, r in self._optimizers.items() if r() is not None}
            self._optimizers[id(optimizer)] = weakref.ref(optimizer)

    def read(self, loader: Any) -> None:
        """Training reads this loader."""
        self._loader = weakref.ref(loader)


def _shape_of(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return Shape(tuple(leaf.shape), leaf.dtype, leaf.device)
    return leaf
