"""Remembers what trained last on this rank, enough to repeat a step, without keeping its memory alive."""

from __future__ import annotations

import math
import weakref
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from msgspec import Struct

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.batches import time_major
from dtrain_lab.rank.torch import autograd

PLAIN = (int, float, bool, str, type(None))
MOST_PASSES = 256
"""Passes of a step kept at most: without an optimizer a step never ends."""
ONE_PASS = (True,)
UNREAD = 8
"""Steps without a batch from a loader after which training reads no loader: a generative adversarial network
makes a few steps per batch."""


class Shape(Struct, frozen=True):
    """Size, dtype and device of a tensor."""

    size: tuple[int, ...]
    dtype: Any
    device: Any

    def make(self) -> torch.Tensor:
        """Make such a tensor: random floats, or zeros for integers, because 0 is always a valid index."""
        if self.dtype.is_floating_point:
            return torch.randn(self.size, dtype=self.dtype, device=self.device)
        return torch.zeros(self.size, dtype=self.dtype, device=self.device)


class _Read(NamedTuple):
    """A batch that was read: its loader, how many steps were made before, and in which cell."""

    loader: weakref.ref[Any]
    steps: int
    cell: int


class LastTraining:
    """The model, optimizers and loader of the last training steps.

    Args:
        cells: header of the metrics ring, which says how many steps were made.
    """

    def __init__(self, cells: Mapping[int, int] | memoryview) -> None:
        self._cells = cells
        self._model: weakref.ref[Any] | None = None
        self._optimizers: dict[int, weakref.ref[Any]] = {}
        self._read: _Read | None = None
        """The batch that was read last, with which nothing may have been computed yet."""
        self._used: _Read | None = None
        """The last batch before it with which training computed."""
        self._cell = self._trained_in = 0
        """Number of the cell that runs, and of the last one that trained."""
        self._ran_at = 0
        """Number of steps that were made before the model ran last."""
        self._ran: weakref.ref[Any] | None = None
        self._last: tuple[int, ...] = ()
        self._arguments: Any = None
        self._size = 0
        self._first: tuple[int, ...] = ()
        self._samples = 0
        """Those of the largest batch since `forget_batch`."""
        self.autocast: tuple[str, Any] | None = None
        self._passes: list[bool] = []
        """Forward passes of the current step: whether each is averaged."""
        self._steps: deque[tuple[bool, ...]] = deque(maxlen=8)
        """The same of each of the last steps."""

    @property
    def model(self) -> Any:
        """The DDP model that ran last; None if it is gone."""
        return self._model() if self._model is not None else None

    @property
    def trained(self) -> bool:
        """Whether a DDP model has trained, also where it is gone."""
        return self._model is not None

    @property
    def trains_no_model(self) -> bool:
        """Whether the last training loop has made its steps without a DDP model: in a later cell than such a
        model, or for several steps."""
        cells = self._cells
        return self._ran_at < cells[ring.CELL_STEPS] or cells[ring.STEPS] - self._ran_at > UNREAD

    @property
    def optimizers(self) -> list[Any]:
        """Live optimizers of this model."""
        mine = {id(p) for p in self.model.parameters()} if self.model is not None else set()
        alive = [o for ref in self._optimizers.values() if (o := ref()) is not None]
        return [o for o in alive if any(id(p) in mine for g in o.param_groups for p in g["params"])]

    @property
    def loader(self) -> Any:
        """The loader that the last training loop read; None if it is gone, or the loop read none."""
        read = self._of_loop
        return read.loader() if read is not None else None

    @property
    def reads(self) -> bool:
        """Whether the last training loop has read a loader, also where the loader is gone."""
        return self._of_loop is not None

    @property
    def _of_loop(self) -> _Read | None:
        """The last batch with which that loop has computed; None if others were read, before or after it."""
        read = self._read if self._is_used(self._read) else self._used
        if read is None or read.cell != self._trained_in:
            return None
        return read if self._cells[ring.STEPS] - read.steps <= UNREAD else None

    def _is_used(self, read: _Read | None) -> bool:
        if read is None or read.cell != self._trained_in:
            return False
        return bool(self._passes) or read.steps < self._cells[ring.STEPS]

    @property
    def batch(self) -> int:
        """Samples of the largest batch of the model since `forget_batch`; 0 if unknown."""
        model = self.model
        return 0 if model is None or time_major(model.module) else self._samples

    def forget_batch(self) -> None:
        """Forget how many samples a batch has, until the next one."""
        self._samples, self._ran = 0, None

    @property
    def passes(self) -> tuple[bool, ...]:
        """The most frequent pattern of the last steps: for each forward pass, whether it was averaged.

        A step has more than one pass where batches are accumulated.
        """
        return Counter(self._steps).most_common(1)[0][0] if self._steps else ONE_PASS

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Make arguments like those of the largest forward pass seen.

        Returns:
            Arguments by position and by name; None if they can't be made.
        """
        if self._arguments is None:
            return None
        arguments: tuple[tuple[Any, ...], dict[str, Any]] = autograd.map_leaves(
            lambda leaf: leaf.make() if isinstance(leaf, Shape) else leaf, self._arguments
        )
        return arguments

    @property
    def batch_bytes(self) -> int:
        """Bytes of the tensors that `arguments` makes; 0 if it can't."""
        leaves = autograd.leaves(self._arguments) if self._arguments is not None else ()
        return sum(math.prod(leaf.size) * leaf.dtype.itemsize for leaf in leaves if isinstance(leaf, Shape))

    @property
    def repeatable(self) -> bool:
        """Whether `arguments` can make arguments."""
        return self._arguments is not None

    def again(self, model: Any, shape: tuple[int, ...], *, syncs: bool = True) -> bool:
        """Whether model and shape of the batch are the same as in the last call; then the pass is added.

        Args:
            model: The model that is called.
            shape: Shape of the batch's first tensor.
            syncs: Whether its gradients will be averaged in backward.
        """
        self._trained_in = self._cell
        self._ran_at = self._cells[ring.STEPS]
        if shape == self._last and self._ran is not None and self._ran() is model:
            if len(self._passes) < MOST_PASSES:
                self._passes.append(syncs)
            return True
        self._ran, self._last = weakref.ref(model), shape
        return False

    def forward(self, model: Any, first: torch.Tensor | None, args: Any, kwargs: Any) -> None:
        """Remember a forward pass of training, if its batch is the largest so far.

        Args:
            model: the DDP model.
            first: the first tensor of its batch; None without one.
            args: positional arguments of the pass.
            kwargs: keyword arguments of the pass.
        """
        shape = tuple(first.shape) if first is not None else ()
        size = first.numel() if first is not None else 0
        self._samples = max(self._samples if self.model is model else 0, *shape[:1], 0)
        if self.model is model and (shape == self._first or size < self._size):
            return
        if self.model is not model:
            self._model = weakref.ref(model)
            self._passes.clear()
            self._steps.clear()
        self._first, self._size = shape, size
        leaves = autograd.leaves((args, kwargs))
        if all(isinstance(leaf, (torch.Tensor, *PLAIN)) for leaf in leaves):
            self._arguments = autograd.map_leaves(_shape_of, (args, kwargs))
        else:
            self._arguments = None
        kind = first.device.type if first is not None else "cpu"
        self.autocast = (kind, torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else None

    def passed(self, model: Any, syncs: bool) -> None:
        """Add a forward pass to the current step.

        Args:
            model: the DDP model.
            syncs: whether its gradients will be averaged in backward.
        """
        if self._model is not None and self._model() is model and len(self._passes) < MOST_PASSES:
            self._passes.append(syncs)

    def stepped(self, optimizer: Any) -> None:
        """Called when an optimizer has stepped."""
        if self._passes:
            self._steps.append(tuple(self._passes))
            self._passes.clear()
        if id(optimizer) not in self._optimizers or self._optimizers[id(optimizer)]() is None:
            self._optimizers = {k: r for k, r in self._optimizers.items() if r() is not None}
            self._optimizers[id(optimizer)] = weakref.ref(optimizer)

    def read(self, loader: weakref.ref[Any]) -> None:
        """Remember the loader that training reads, which may be gone though its iterator is not."""
        last, steps = self._read, self._cells[ring.STEPS]
        if last is None or (last.steps, last.cell) != (steps, self._cell) or last.loader is not loader:
            if self._is_used(last):
                self._used = last
            self._read = _Read(loader, steps, self._cell)

    def begin_cell(self) -> None:
        """Called when a cell begins: what another cell has read is no batch of its loop."""
        self._cell += 1


def _shape_of(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return Shape(tuple(leaf.shape), leaf.dtype, leaf.device)
    return leaf
