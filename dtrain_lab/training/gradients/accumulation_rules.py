"""Rules for ranks that accumulate: flush together, and step no parameter that is not averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_pre_hook

from dtrain_lab.errors import BadRequest
from dtrain_lab.text.units import counted
from dtrain_lab.training import ranks, store_exchange

NAMED = 3
"""Maximum number of parameters named in a sentence."""
FLUSH = "the end of a group of batches"
READ_AHEAD = (
    "dt.optimize: a batch was trained on after its DataLoader had ended. Where batches are read ahead of the "
    "loop, as by a prefetcher or Accelerate, an epoch's last group ends before its last batch, which waits "
    "for the next group: read the DataLoader in the loop itself."
)


class Group(Protocol):
    """The part of an accumulation that is used here."""

    every: int
    done: int
    averaged: bool
    resting: bool

    @property
    def optimizer(self) -> Any:
        """The optimizer; None if it is gone."""

    @property
    def model(self) -> Any:
        """The model; None if it is gone."""


_watched: list[Callable[[], Iterable[Group]]] = []
"""Set once torch's hook of all optimizers is registered, which lasts as long as the process."""


def meet_before_flush(model: Any, done: int) -> None:
    """Wait until all ranks of a DDP model flush; on a rank whose data has ended earlier, others still train.

    Args:
        model: the DDP model.
        done: batches of this rank's group.

    Raises:
        BadRequest: the others have not come within the time.
    """
    try:
        store_exchange.meet(FLUSH, dist.get_process_group_ranks(model.process_group), done)
    except store_exchange.Absent as absent:
        batches = counted(done, "batch", "batches")
        raise BadRequest(
            f"dt.optimize: the data of this rank has ended with {batches} of an incomplete group, and "
            f"{absent.names} did not reach the end of its data: ranks have different numbers of batches.",
            "Give each rank as many batches as the others: DistributedSampler pads them; a stream ends after "
            "the same number on each rank.",
        ) from None


def watch_optimizers(groups: Callable[[], Iterable[Group]]) -> None:
    """Refuse the step of an optimizer whose parameters an accumulation leaves without their average.

    Args:
        groups: returns all accumulations; called once per step of an optimizer.
    """
    if not _watched:
        register_optimizer_step_pre_hook(_before_step)
    _watched[:] = [groups]


def _before_step(optimizer: Any, *_: Any) -> None:
    groups = list(_watched[0]())
    for group in groups:
        model = group.model
        if group.averaged or group.resting or not isinstance(model, DistributedDataParallel):
            continue
        accumulated = {id(p) for each in groups if each.model is model for p in _parameters(each.optimizer)}
        held = {id(p) for p in _parameters(optimizer) if p.requires_grad and p.grad is not None} - accumulated
        names = [name for name, p in model.module.named_parameters() if id(p) in held]
        if names:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            kind = type(optimizer).__name__
            raise BadRequest(
                f"dt.optimize: an optimizer that does not accumulate ({kind}) is about to step "
                f"{', '.join(names[:NAMED])}{more}, whose gradients are averaged over the ranks "
                f"only once in {group.every} batches: the ranks' parameters would drift apart.",
                "Let it accumulate, too: model, optimizer = dt.optimize(model, optimizer, "
                f"gradient_accumulation_steps={group.every}), with each optimizer of the model.",
                code="optimizer_unfit",
            )


def _parameters(optimizer: Any) -> list[Any]:
    return [] if optimizer is None else [p for group in optimizer.param_groups for p in group["params"]]


def tell_unfinished(groups: Iterable[Group]) -> None:
    """Report incomplete groups of batches once, when a cell or a script has ended."""
    for group in groups:
        if group.done and group.optimizer is not None:
            ranks.say(unfinished(group.done, group.every))


def unfinished(done: int, every: int) -> str:
    """The sentence about an incomplete group.

    Args:
        done: batches that the group has.
        every: batches of a whole group.
    """
    return (
        f"dt.optimize: the optimizer has not stepped with the last {done} of {every} batches of a group. "
        "Call optimizer.flush() after a loop that leaves its DataLoader early, or reads other data."
    )


def saved(done: int, every: int) -> str:
    """The sentence about an optimizer that is saved within a group.

    Args:
        done: batches that the group has.
        every: batches of a whole group.
    """
    return (
        f"dt.optimize: the optimizer is saved after {done} of {every} batches of a group: "
        "their gradients are not in its state."
    )
