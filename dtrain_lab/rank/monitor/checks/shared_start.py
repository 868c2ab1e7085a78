"""Detects ranks that average gradients although their parameters differ, so that they train different models.

Where gradients are averaged, parameters have to be the same on all ranks of the group before the first step,
and again when the group was rebuilt: an interrupt may have ended a step on some ranks only.
Each rank writes checksums to the rendezvous store once; the last rank to do so compares them and tells the
user. Parameters of FSDP, tensor and pipeline parallelism are never compared: their gradients are not averaged
by DDP, nor each by itself.
"""

from __future__ import annotations

import json
import logging
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist

from dtrain_lab.rank.monitor.checks.missing_sync import MOST, NAMED, names_of
from dtrain_lab.rank.torch import ddp
from dtrain_lab.rank.torch.compiler import untraced
from dtrain_lab.text import rank_names

PART = 1 << 16
"""Maximum number of elements compared per parameter, so that a large model costs little."""
SAME = 1e-6
"""Largest difference of checksums that counts as equal, relative to the sum of magnitudes."""
SAME_TRAINED = 1e-10
"""The same for models that have trained together. They are equal but for the rounding of other hardware, and
a single small step must be seen."""
STEPS = 2
"""First steps of a cell in which gradients that are averaged by hand are looked for."""
log = logging.getLogger("dtrain_lab.rank")


class SharedStart:
    """Compares parameters once per DDP model, and once per optimizer whose gradients are averaged by hand.

    Args:
        say: prints a note for the user.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._print = say
        self._store: Any = None
        self._cell = ""
        self.in_first_steps = False
        """Whether the cell is in its first steps, so that `step_ended` has to be called."""
        self._steps = STEPS
        self._compared: weakref.WeakSet[Any] = weakref.WeakSet()
        """DDP models that have been compared."""
        self._trained: weakref.WeakSet[Any] = weakref.WeakSet()
        """Those that had been compared when the group was rebuilt."""
        self._optimizers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        """Optimizers whose gradients are averaged by hand → the group."""
        self.by_hand = False
        """Whether gradients may be averaged by hand, so that `stepping` has to be called."""
        self._reduced: dict[tuple[int, int], Any] = {}
        """Address and size of a tensor that was reduced in this step → its group."""
        self._numbers: Counter[str] = Counter()
        """Group → comparisons in this cell so far."""

    def begin_cell(self, cell: str, ranks: int, store: Any) -> None:
        """Called when a cell begins.

        Args:
            cell: id of the cell, the same on all ranks.
            ranks: number of ranks that run it.
            store: the ranks' rendezvous store; None without one.
        """
        self._cell, self._store = cell, store if ranks > 1 else None
        self._steps, self.in_first_steps = 0, True
        self._optimizers.clear()
        self._reduced.clear()
        self.by_hand = False
        self._numbers.clear()

    def rebuilt(self) -> None:
        """Compare all models once more: an interrupt may come between the same step of two ranks."""
        self._trained = weakref.WeakSet([*self._trained, *self._compared])
        self._compared.clear()

    @untraced
    def forward(self, model: Any) -> None:
        """Called before a DDP model's first forward pass in a cell."""
        if model in self._compared or self._store is None:
            return
        self._compared.add(model)
        # local SGD lets parameters differ on purpose
        if ddp.has_hooks(model) and getattr(model, "gradient_compression", None) is None:
            return
        mine = {id(p) for p in ddp.parameters(model)}
        parameters = {name: p for name, p in model.module.named_parameters() if id(p) in mine}
        why = "DistributedDataParallel averages their gradients"
        self._compare(parameters, model.process_group, why, trained=model in self._trained)

    def reduced(self, tensor: Any, group: Any) -> None:
        """Called when a tensor is summed over a group by hand.

        Args:
            tensor: The tensor: a gradient, or all gradients in a flat one.
            group: The process group; None for the default group.
        """
        if self._store is None or not self.in_first_steps or not _has_place(tensor):
            return
        if len(self._reduced) < MOST:
            self._reduced[_place(tensor)] = group
            self.by_hand = True

    @untraced
    def stepping(self, optimizer: Any) -> Any:
        """Called before an optimizer steps.

        Returns:
            The group over which its gradients are averaged by hand; None if they aren't.
        """
        counted = self._optimizers.get(optimizer)
        if counted is not None or not self._reduced:
            return counted
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        # requires all gradients to match: one address alone may be that of a freed tensor
        summed = {self._reduced.get(_place(p.grad)) for p in parameters if _has_place(p.grad)}
        group = summed.pop() if len(summed) == 1 else None
        if group is None and len(parameters) > 1:  # all gradients in one flat tensor
            total = sum(p.grad.numel() for p in parameters)
            group = next((g for (_, size), g in self._reduced.items() if size == total), None)
        if group is not None:
            self._optimizers[optimizer] = group
            named = dict(zip(names_of(parameters, parameters), parameters, strict=True))
            self._compare(named, group, "their gradients are averaged")
        return group

    def step_ended(self) -> None:
        """Called when a training step has ended."""
        self._steps += 1
        self.in_first_steps = self._steps < STEPS
        self._reduced.clear()
        self.by_hand = bool(self._optimizers)

    def _compare(
        self, parameters: dict[str, torch.Tensor], group: Any, why: str, *, trained: bool = False
    ) -> None:
        members = dist.get_process_group_ranks(group)
        if len(members) < 2 or not parameters:
            return
        try:
            answers = self.exchange("start", members, (trained, checksums(list(parameters.values())[:MOST])))
        except RuntimeError as error:  # the rank that keeps the store has ended, or the world is rebuilt
            log.info("not compared with the other ranks: %s", error)
            return
        if answers is None or len({len(sums) for _, sums in answers}) > 1:
            return
        ranks = [*(r for r in members if r != dist.get_rank()), dist.get_rank()]
        sums = {rank: each for rank, (_, each) in zip(ranks, answers, strict=True)}
        trained = any(each for each, _ in answers)  # a replaced rank itself has trained no step
        first = sums.pop(min(members))
        within = SAME_TRAINED if trained else SAME
        differences = {
            rank: [_differ(a, b, within) for a, b in zip(first, each, strict=True)]
            for rank, each in sums.items()
        }
        differ = [name for i, name in enumerate(parameters) if any(each[i] for each in differences.values())]
        if differ and trained:
            self._print(_diverged(min(members), [r for r, each in differences.items() if any(each)], differ))
        elif differ:
            self._print(_sentence(len(members), differ, why))

    def exchange(self, topic: str, members: Sequence[int], mine: Any) -> list[Any] | None:
        """Write this rank's part for its n-th comparison of a topic; never waits for other ranks.

        Args:
            topic: what is compared.
            members: the ranks that compare, this one among them.
            mine: this rank's part; JSON.

        Returns:
            On the rank that came last: the parts of all members, its own at the end. Else None.

        Raises:
            RuntimeError: the store has ended.
        """
        if self._store is None:
            return None
        key = f"{topic}/{zlib.crc32(repr(sorted(members)).encode())}"
        self._numbers[key] += 1
        place = f"dtrain/same/{self._cell}/{key}/{self._numbers[key]}"
        me = dist.get_rank()
        self._store.set(f"{place}/{me}", json.dumps(mine))
        if self._store.add(f"{place}/count", 1) < len(members):
            return None
        others = [json.loads(self._store.get(f"{place}/{r}")) for r in members if r != me]
        for rank in members:  # no other rank reads them, and they may be large
            self._store.delete_key(f"{place}/{rank}")
        return [*others, mine]


def _has_place(tensor: Any) -> bool:
    """Whether a tensor has memory of its own; sparse ones have not."""
    return type(tensor) is torch.Tensor and tensor.layout is torch.strided


def _place(tensor: torch.Tensor) -> tuple[int, int]:
    return tensor.data_ptr(), tensor.numel()


def checksums(tensors: Sequence[torch.Tensor]) -> list[tuple[int, float, float]]:
    """Return each tensor's number of elements, and the sum and sum of magnitudes of its first elements."""
    with torch.no_grad():
        parts = [tensor.detach().flatten()[:PART] for tensor in tensors]
        sums = [torch.stack((p.double().sum().cpu(), p.double().abs().sum().cpu())).tolist() for p in parts]
    return [(t.numel(), *pair) for t, pair in zip(tensors, sums, strict=True)]


def _differ(a: Sequence[float], b: Sequence[float], within: float) -> bool:
    """Whether checksums are of different values; False if the shapes differ, which is meant."""
    most = within * max(a[2], b[2])
    return a[0] == b[0] and (abs(a[1] - b[1]) > most or abs(a[2] - b[2]) > most)


def _named(differ: list[str]) -> str:
    more = f" and {len(differ) - NAMED} more" if len(differ) > NAMED else ""
    return f"{', '.join(differ[:NAMED])}{more}"


def _diverged(first: int, ranks: list[int], differ: list[str]) -> str:
    return (
        f"The parameters of {rank_names.name(ranks)} differ from those of rank {first} ({_named(differ)}): "
        "the interrupt may have come between the same step of two ranks. To make them equal: "
        f"%distributed restart {rank_names.compact(ranks)} --from {first}, or load a checkpoint on all ranks."
    )


def _sentence(ranks: int, differ: list[str], why: str) -> str:
    return (
        f"The parameters of {ranks} ranks differ before the first step ({_named(differ)}), "
        f"although {why}: each rank trains a separate model. Start from the same "
        "parameters: wrap the model in DistributedDataParallel without init_sync=False, and load checkpoints "
        "on all ranks."
    )
