"""Detects loaders whose ranks read the same samples: no DistributedSampler, equal shards, orders that differ.

Loaders are checked in the forward pass of a DDP model, or in the step of an optimizer whose gradients are
averaged by hand or by FSDP2, because the ranks of that group should read different samples. The check reads
no samples, and reports nothing that is uncertain.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
)

from dtrain_lab.rank.monitor.batches import first_tensor
from dtrain_lab.rank.monitor.checks.missing_sync import MissingSync
from dtrain_lab.rank.monitor.checks.shared_start import SharedStart, checksums
from dtrain_lab.rank.torch import groups

AT = 2
"""Number of forward passes after which a loader counts as trained on, and not just inspected."""
MOST = 4
"""Maximum number of comparisons in one cell."""
log = logging.getLogger("dtrain_lab.rank")


class SyncChecks(NamedTuple):
    """The checks of what has to be the same on all ranks."""

    missing_sync: MissingSync
    shared_start: SharedStart
    shards: Shards


class Shards:
    """Watches the samplers of the loaders that training reads.

    Args:
        say: prints a note for the user.
        shared_start: exchanges what the ranks compare.
    """

    def __init__(self, say: Callable[[str], None], shared_start: SharedStart) -> None:
        self._print = say
        self._shared_start = shared_start
        self._told_epochs: weakref.WeakSet[Any] = weakref.WeakSet()
        """Samplers on which `set_epoch` was called."""
        self.begin_cell()
        _watch_epochs(self._told_epochs)

    def begin_cell(self) -> None:
        """Called when a cell begins."""
        self.loader: Any = None
        """A loader that is being read and has not been checked."""
        self._batch: torch.Tensor | None = None
        self._forwards = 0
        self._compared: set[tuple[int, int]] = set()
        """Models and data sets; a loop may make a loader for each epoch."""
        self._warned: set[str] = set()
        self._passes: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()
        """Sampler → ids of the models that one of its epochs has trained."""

    def read(self, loader: Any) -> None:
        """Called when training gets the first batch of an iterator of a loader."""
        self.loader = loader if type(loader) is DataLoader else None
        self._forwards = 0

    def gave(self, batch: Any) -> None:
        """Called when a loader that is used for training has returned a batch."""
        if self.loader is not None:
            self._batch = first_tensor(batch)

    def forward(self, model: Any, first: torch.Tensor | None) -> None:
        """Called before a DDP model's forward pass in training.

        Args:
            model: the DDP model.
            first: the first tensor of its batch; None without one.
        """
        if self.loader is not None:
            self._passed(model.process_group, id(model), first, whole=True)

    def stepping(self, optimizer: Any, group: Any, *, whole: bool) -> None:
        """Called before the step of an optimizer whose gradients are averaged without DDP.

        Args:
            optimizer: the optimizer.
            group: the ranks that average.
            whole: whether a rank's model gets the whole batch. Code that averages by hand may use a part of
                it, so that equal batches are not a mistake.
        """
        if self.loader is not None:
            self._passed(group, id(optimizer), self._batch, whole=whole)

    def _passed(self, group: Any, key: int, first: torch.Tensor | None, *, whole: bool) -> None:
        """Count a forward pass with the loader's batch, and check the loader when enough have been seen.

        Args:
            group: the ranks that should read different samples.
            key: id of the model or the optimizer that is trained.
            first: the first tensor of the batch; None without one.
            whole: whether a rank's model is known to get the whole batch.
        """
        loader = self.loader
        self._forwards += 1
        if self._forwards < AT:
            return
        self.loader = self._batch = None
        members = dist.get_process_group_ranks(group)
        mine = None if len(members) < 2 else _facts(loader)
        if mine is None:
            return
        self._epoch(loader.sampler, key, leads=members[0] == dist.get_rank())
        pair = key, id(loader.dataset)
        if pair in self._compared or len(self._compared) >= MOST:
            return
        self._compared.add(pair)
        mine["batch"] = [] if first is None else _values(first)
        mine["whole"] = whole
        mine["rank_of"] = dist.get_rank()
        try:
            others = self._shared_start.exchange("shards", members, mine)
        except RuntimeError as error:
            log.info("loaders not compared with the other ranks: %s", error)
            return
        if others is not None:
            self._warn(_sentence(sorted(others, key=lambda each: int(each["rank_of"]))))

    def _epoch(self, sampler: Any, model: int, *, leads: bool) -> None:
        if type(sampler) is not DistributedSampler or not sampler.shuffle or sampler in self._told_epochs:
            return
        trained = self._passes.setdefault(sampler, set())
        if model in trained and leads:
            self._warn(
                "set_epoch is never called on the DistributedSampler: every epoch has the same order. "
                "Call sampler.set_epoch(epoch) at the start of each epoch."
            )
        trained.add(model)

    def _warn(self, text: str) -> None:
        if text and text not in self._warned:
            self._warned.add(text)
            self._print(text)


def _watch_epochs(with_epoch: weakref.WeakSet[Any]) -> None:
    original = DistributedSampler.set_epoch

    @functools.wraps(original)
    def set_epoch(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        with_epoch.add(self)

    DistributedSampler.set_epoch = set_epoch


def splits(loader: Any) -> bool:
    """Whether a loader's sampler gives each rank its own part of the data; False if that is unknown."""
    sampler = getattr(loader.batch_sampler, "sampler", loader.sampler)
    return isinstance(sampler, DistributedSampler) and sampler.num_replicas > 1


def _facts(loader: Any) -> dict[str, Any] | None:
    """How a loader chooses samples, as far as this has to be the same on all ranks; None if unknown."""
    if isinstance(loader.dataset, IterableDataset) or type(loader.batch_sampler) is not BatchSampler:
        return None
    sampler, facts = loader.sampler, {"length": len(loader.dataset), "data": _data(loader.dataset)}
    if type(sampler) is DistributedSampler:
        order = sampler.seed + sampler.epoch if sampler.shuffle else -1
        return {
            **facts,
            "shard": [sampler.rank, sampler.num_replicas],
            "order": order,
            "seed": sampler.seed,
            "epoch": sampler.epoch,
        }
    if type(sampler) in (SequentialSampler, RandomSampler):
        return {**facts, "shard": None}
    return None


def _data(data: Any) -> list[Any]:
    """Identification of a data set of tensors; empty if unknown."""
    if type(data) is Subset:
        inside = _data(data.dataset)
        return [*inside, len(data.indices), sum(map(int, data.indices[:1000]))] if inside else []
    if type(data) is TensorDataset:
        return [value for tensor in data.tensors for value in _values(tensor)]
    fingerprint = getattr(data, "_fingerprint", None)  # of Hugging Face's datasets
    return [fingerprint] if isinstance(fingerprint, str) else []


def _values(tensor: torch.Tensor) -> list[Any]:
    """Shape and checksums of a tensor; empty if all values are equal, because it identifies nothing then."""
    if not tensor.numel() or tensor.is_complex():
        return []
    ((_, total, size),) = checksums([tensor])
    part = tensor.detach().flatten()[:1000]
    return [] if bool((part == part[0]).all()) else [list(tensor.shape), total, size]


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _sentence(all_facts: list[dict[str, Any]]) -> str:
    """What is wrong with the samplers of a group's ranks; empty if nothing is, or if it is uncertain."""
    first = all_facts[0]
    ranks = [each["rank_of"] for each in all_facts]
    same_data = all(each["data"] == first["data"] and each["length"] == first["length"] for each in all_facts)
    if not same_data:
        return ""
    if all(each["shard"] is None for each in all_facts):
        same_batch = first["batch"] and all(each["batch"] == first["batch"] for each in all_facts)
        if not (first["whole"] and (first["data"] or same_batch)) or _subgroups(len(ranks)):
            return ""
        return (
            f"{len(ranks)} ranks read the same data: the loader has no DistributedSampler, so an epoch "
            f"trains on each sample {_times(len(ranks))}. Give it one: sampler = DistributedSampler(data), "
            "DataLoader(data, sampler=sampler), and sampler.set_epoch(epoch) in each epoch."
        )
    if any(each["shard"] is None or each["shard"][1] != len(ranks) for each in all_facts):
        return ""
    by_shard: dict[int, list[int]] = {}
    for each in all_facts:
        by_shard.setdefault(each["shard"][0], []).append(each["rank_of"])
    for shard, readers in by_shard.items():
        if len(readers) > 1 and not _subgroups(len(ranks)):
            unread = [n for n in range(len(ranks)) if n not in by_shard]
            return (
                f"Ranks {_list(readers)} read the same shard: their DistributedSampler has rank={shard}, and "
                f"no rank reads shard{'s' if len(unread) > 1 else ''} {_list(unread)} of {len(ranks)}. Leave "
                "num_replicas and rank out: the sampler takes them from the process group."
            )
    for name in ("seed", "epoch"):
        values = [each[name] for each in all_facts]
        if len({each["order"] for each in all_facts}) > 1 and len(set(values)) > 1:
            return (
                f"The DistributedSampler has a different {name} on each rank ({name} {_list(values)} on "
                f"ranks {_list(ranks)}): each shuffles in a different order, so the shards overlap. "
                f"Give the same {name} on all ranks."
            )
    return ""


def _list(numbers: list[int]) -> str:
    shown = [str(n) for n in numbers[:4]]
    return ", ".join(shown) + (", …" if len(numbers) > len(shown) else "")


def _subgroups(ranks: int) -> bool:
    """Whether some ranks have groups of their own: parallel parts of a model share data on purpose."""
    return any(1 < dist.get_world_size(group) < ranks for group in groups.live_groups())
