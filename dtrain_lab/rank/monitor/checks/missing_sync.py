"""Detects ranks that train without exchanging gradients: each trains its own model, and no error is raised.

A rank notices that its steps exchange nothing. It then writes a checksum of each parameter to the rendezvous
store; the last rank to do so compares all checksums and tells the user. No collective is called, because
ranks that exchange nothing may never meet in one.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch

from dtrain_lab.rank.torch.compiler import untraced

FEW = 10
"""Steps without exchange after which the ranks are compared at a cell's end."""
MANY, LONG_S = 100, 20.0
"""The same while the cell runs, with a minimum time: code that averages parameters only now and then has
done so by then."""
SHARE, LEAST = 0.005, 4
"""Fewest elements sent that count as an exchange, as a share of all parameter elements and as a number: an
averaged loss is no exchange."""
NAMED = 3
"""Parameters named in the note to the user."""
MOST = 20_000
"""Maximum number of parameters compared."""
EVERYTHING = 1 << 60
LEAVES_S = 5.0
log = logging.getLogger("dtrain_lab.rank")


class MissingSync:
    """Watches the exchanges of one rank.

    Args:
        say: prints a note for the user.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._print = say
        self._store: Any = None
        self._cell = ""
        self._ranks = 0
        self._hosts_store = False
        self._optimizer: Any = None
        """The last optimizer that stepped, kept alive because the training function may have returned."""
        self.elements_sent = 0
        """Elements sent to other ranks since the last step."""
        self._steps = 0
        self._began = 0.0
        self._least = LEAST
        self.finished = True
        """Whether the check of this cell has ended."""

    def begin_cell(self, cell: str, ranks: int, store: Any, *, hosts_store: bool = False) -> None:
        """Called when a cell begins.

        Args:
            cell: id of the cell, the same on all ranks.
            ranks: number of ranks that run it.
            store: the ranks' rendezvous store.
            hosts_store: whether this process hosts the store, and so must wait until the others have read it.
        """
        self._hosts_store = hosts_store
        self._cell, self._ranks, self._store = cell, ranks, store
        self._optimizer = None
        self.elements_sent = self._steps = 0
        self._least = LEAST
        self.finished = ranks < 2 or store is None or "horovod" in sys.modules

    def stepped(self, optimizer: Any) -> None:
        """Called before an optimizer steps; sets the threshold from the number of its parameters."""
        if self.finished or optimizer is self._optimizer:
            return
        self._optimizer = optimizer
        numbers = sum(p.numel() for p in _parameters(optimizer))
        self._least = max(self._least, int(SHARE * numbers))

    def step_ended(self) -> None:
        """Called when a training step has ended."""
        if self.finished:
            return
        if not self._steps:  # data sent before the first step may be the initial parameters
            self._began = time.monotonic()
        elif self.elements_sent >= self._least:
            self._finish()
            return
        self._steps += 1
        self.elements_sent = 0
        if self._steps >= MANY and self._optimizer is not None and time.monotonic() - self._began > LONG_S:
            self._warn()

    def end_cell(self) -> None:
        """Called when a cell has ended without an error."""
        if (
            not self.finished
            and self._optimizer is not None
            and self._steps >= FEW
            and self.elements_sent < self._least
        ):
            self._warn()
        self._finish()

    def _finish(self) -> None:
        self.finished, self._optimizer = True, None

    @untraced
    def _warn(self) -> None:
        try:
            self._compare()
        except RuntimeError as error:  # the rank that keeps the store has ended
            log.info("not compared with the other ranks: %s", error)
        self._finish()

    def _compare(self) -> None:
        parameters = _parameters(self._optimizer)[:MOST]
        mine = [[p.numel(), _checksum(p)] for p in parameters]
        key = f"dtrain/apart/{self._cell}"
        number = self._store.add(f"{key}/count", 1)
        self._store.set(f"{key}/{number}", json.dumps(mine))
        if number < self._ranks:
            if self._hosts_store:
                self._store.wait([f"{key}/read"], timedelta(seconds=LEAVES_S))
            return
        others = [json.loads(self._store.get(f"{key}/{n}")) for n in range(1, number)]
        self._store.set(f"{key}/read", "1")
        if any([n for n, _ in other] != [n for n, _ in mine] for other in others):
            return  # the ranks train different models on purpose
        differ = [p for i, p in enumerate(parameters) if any(other[i][1] != mine[i][1] for other in others)]
        text = _sentence(
            self._ranks, self._steps, names_of(parameters, differ), replaces=_in_data_parallel(parameters)
        )
        self._print(text)


def _sentence(ranks: int, steps: int, differ: list[str], *, replaces: bool) -> str:
    if differ:
        more = f" and {len(differ) - NAMED} more" if len(differ) > NAMED else ""
        now = f"their parameters differ ({', '.join(differ[:NAMED])}{more})"
    else:
        now = "their parameters are still equal: each rank computes the same"
    first = "Replace nn.DataParallel by DistributedDataParallel" if replaces else "Wrap the model"
    return (
        f"{ranks} ranks train without exchanging gradients; after {steps} steps {now}. "
        f"Each rank trains a separate model. {first}: "
        "model = torch.nn.parallel.DistributedDataParallel(model), and give the loader a DistributedSampler."
    )


def _parameters(optimizer: Any) -> list[torch.Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]


def _in_data_parallel(parameters: list[torch.Tensor]) -> bool:
    """Whether parameters are of a model in `nn.DataParallel`, which averages over the GPUs of one process."""
    wanted = {id(p) for p in parameters}
    # type(), not isinstance, as below
    wraps = [o for o in gc.get_objects() if issubclass(type(o), torch.nn.DataParallel)]
    return any(id(p) in wanted for module in wraps for p in module.parameters())


def _checksum(parameter: torch.Tensor) -> float:
    local = parameter.to_local() if hasattr(parameter, "to_local") else parameter
    values = local.detach().double()
    return float(values.sum()) + float(values.abs().sum()) / 3


def names_of(parameters: list[torch.Tensor], differ: list[torch.Tensor]) -> list[str]:
    """Parameters' names in the outermost module; without one, their positions in the optimizer.

    Args:
        parameters: The optimizer's parameters, in its order.
        differ: Those of them whose names are wanted.
    """
    wanted = {id(p) for p in parameters}
    best: dict[int, str] = {}
    # type(), not isinstance, which asks lazy objects for their class and so loads modules
    for module in [o for o in gc.get_objects() if issubclass(type(o), torch.nn.Module)]:
        names = {id(p): name for name, p in module.named_parameters() if id(p) in wanted}
        if (len(names), sum(map(len, names.values()))) > (len(best), sum(map(len, best.values()))):
            best = names
    places = {id(p): f"parameter {i}" for i, p in enumerate(parameters)}
    return [best.get(id(p), places[id(p)]) for p in differ]
