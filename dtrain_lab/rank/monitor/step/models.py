"""Records of the DDP models that train, so that an ordinary step needs no look-up."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sized
from typing import Any

from dtrain_lab.rank.torch import ddp, group_backends, names


class Model:
    """Counts and constants of a DDP model; as attributes of it, another rank would get them with a copy.

    Args:
        module: the model; it is not kept alive.
    """

    __slots__ = (
        "__weakref__", "all_ranks", "batch", "begun", "cell", "compared", "gradient_bytes", "hooks", "item",
        "next_probe", "passes", "rate", "ref", "tail", "timed",
    )  # fmt: skip

    def __init__(self, module: Any) -> None:
        self.ref = weakref.ref(module)
        self.batch = 0, 0, False
        """Samples and tokens of its last batch, and whether the number of samples is a guess."""
        self.cell = -1
        """The cell that `enter` was called for."""
        self.compared = False
        """Whether its parameters have been checked against the other ranks' in this cell."""
        self.gradient_bytes, self.item = 0, 0
        """Bytes of the gradients that it averages, and of one element of most of them; 0 if unknown."""
        self.hooks: Sized = ()
        """Its communication hooks."""
        self.all_ranks = False
        """Whether it averages over the whole world."""
        self.begun: Callable[[], int] = int
        """Returns the number of collectives begun in its group."""
        self.passes = 0
        """Synced backward passes in this cell."""
        self.next_probe = 0
        """The number of such passes before the next one that is probed."""
        self.timed = 0
        """Forward passes since torch times its backward passes."""
        self.rate = 0
        """The interval of backward passes that are timed; 0 before the first."""
        self.tail = 0
        """How long the last timed one waited for communication, ns."""


class Models:
    """The DDP models of this process.

    Args:
        first_probe: returns the number of synced backward passes before the first one that is probed.
    """

    def __init__(self, first_probe: Callable[[], int]) -> None:
        self._models: weakref.WeakKeyDictionary[Any, Model] = weakref.WeakKeyDictionary()
        self._last: Model | None = None
        self._first_probe = first_probe
        self._cell = 0

    def begin_cell(self) -> None:
        """Called when a cell begins: the world may have been rebuilt."""
        self._cell += 1
        self.end_cell()

    def end_cell(self) -> None:
        """Called when a cell has ended: a rebuild of the world replaces the back-ends."""
        self._last = None
        for model in self._models.values():
            model.cell, model.begun = -1, int

    def of(self, module: Any) -> Model:
        """A model that trains; what is constant within a cell is looked up in its first pass of the cell."""
        last = self._last
        if last is not None and last.ref() is module:
            return last
        model = self._models.get(module)
        if model is None:
            model = self._models[module] = Model(module)
            if names.has(names.BACKWARD):
                model.gradient_bytes, model.item = ddp.gradient_sizes(module)  # takes 1 ms for a large model
        if model.cell != self._cell:
            model.cell, model.compared = self._cell, False
            model.passes, model.next_probe = 0, self._first_probe()
            model.begun = group_backends.counter(group_backends.backends(module.process_group))
            model.all_ranks = ddp.is_of_all_ranks(module)
            if names.has(names.BACKWARD):
                model.hooks = ddp.hooks(module)
        self._last = model
        return model
