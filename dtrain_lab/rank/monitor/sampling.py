"""Names loaders that give the ranks the same samples, or the same order in every epoch.

No collective is called: a rank writes what it reads from into the rendezvous store, and the last one to do so
compares and tells.
"""

from __future__ import annotations

import json
import logging
import os
import zlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
)

FEW = 32
"""Samples by which two data sets are compared."""
LEAVES_S = 5.0
log = logging.getLogger("dtrain_lab.rank")


class Sampling:
    """Watches the loaders of one rank.

    Args:
        say: prints a note for the user.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._epochs: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        """By sampler, the epoch that was read to its end last."""
        self._iterators: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._store: Any = None
        self._cell, self._ranks, self._rank = "", 0, 0
        self._over = True

    def begin_cell(self, cell: str, ranks: int, store: Any) -> None:
        """Called when a cell begins.

        Args:
            cell: id of the cell, the same on all ranks.
            ranks: number of ranks that run it.
            store: the ranks' rendezvous store.
        """
        self._cell, self._ranks, self._store = cell, ranks, store
        self._rank = int(os.environ.get("RANK", "0"))
        self._over = ranks < 2 or store is None

    def iterates(self, iterator: Any, loader: Any) -> None:
        """Called when training begins to read a loader."""
        sampler = loader.sampler
        if isinstance(sampler, DistributedSampler):
            self._iterators[iterator] = sampler
            if sampler.shuffle and self._epochs.get(sampler) == sampler.epoch:
                self._say(
                    f"epoch {sampler.epoch} is read again: the sampler gives the same order in every epoch. "
                    "Call sampler.set_epoch(epoch) at the start of each epoch."
                )

    def ended(self, iterator: Any) -> None:
        """Called when a loader has given its last batch."""
        sampler = self._iterators.get(iterator)
        if sampler is not None:
            self._epochs[sampler] = sampler.epoch

    def trains(self, loader: Any) -> None:
        """Called when ranks that average gradients have read a loader; compares it once per cell."""
        if self._over or loader is None:
            return
        self._over = True
        mine = described(loader)
        if mine is None:
            return
        try:
            told = self._compare(mine)
        except RuntimeError as error:  # the rank that keeps the store has ended
            log.info("loaders not compared with the other ranks: %s", error)
            return
        if told:
            self._say(told)

    def _compare(self, mine: dict[str, Any]) -> str:
        key = f"dtrain/sampling/{self._cell}"
        number = self._store.add(f"{key}/count", 1)
        self._store.set(f"{key}/{number}", json.dumps({**mine, "at": self._rank}))
        if number != self._ranks:
            return ""
        keys = [f"{key}/{n}" for n in range(1, self._ranks + 1)]
        self._store.wait(keys, timedelta(seconds=LEAVES_S))
        return overlap([json.loads(self._store.get(each)) for each in keys])


def described(loader: Any) -> dict[str, Any] | None:
    """What a loader reads, in a few numbers; None where that can't be told."""
    sampler = loader.sampler
    if isinstance(loader.dataset, IterableDataset) or type(loader.batch_sampler) is not BatchSampler:
        return None
    try:
        known = {"samples": len(loader.dataset), "data": _mark(loader.dataset)}
    except TypeError:  # a data set without a length
        return None
    if isinstance(sampler, DistributedSampler):
        return {**known, "shard": sampler.rank, "shards": sampler.num_replicas}
    if type(sampler) in (RandomSampler, SequentialSampler) and known["data"]:
        return {**known, "sampler": type(sampler).__name__}
    return None


def overlap(found: list[dict[str, Any]]) -> str:
    """The sentence for ranks that read the same samples; empty where they don't."""
    found = sorted(found, key=lambda each: int(each["at"]))
    same = len({(each["samples"], each["data"]) for each in found}) == 1
    if not same:
        return ""
    shards = [each.get("shard") for each in found]
    if None in shards:
        if any(shard is not None for shard in shards):
            return ""
        return (
            f"{len(found)} ranks read the same {found[0]['samples']:,} samples each, as the loader has no "
            "DistributedSampler: DataLoader(…, sampler=DistributedSampler(data))."
        )
    for number, shard in enumerate(shards):
        if shard in shards[:number]:
            other = shards.index(shard)
            return (
                f"ranks {found[other]['at']} and {found[number]['at']} read the same shard {shard} of "
                f"{found[0]['shards']}: give DistributedSampler each rank's own rank, or leave rank out."
            )
    return ""


def _mark(data: Any) -> int:
    """A checksum of a data set's first samples; 0 for a data set whose content can't be seen cheaply."""
    if isinstance(data, Subset):
        inner = _mark(data.dataset)
        return inner and zlib.crc32(repr(list(data.indices[:FEW])).encode(), inner)
    if isinstance(data, TensorDataset):
        found = 1
        for tensor in data.tensors:
            if tensor.device.type == "cpu":
                rows = tensor[:FEW].detach().contiguous()
                found = zlib.crc32(rows.flatten().view(torch.uint8).numpy().tobytes(), found)
        return found or 1
    root, split = getattr(data, "root", None), getattr(data, "train", None)
    if isinstance(root, str) and isinstance(split, bool):  # torchvision's
        return zlib.crc32(f"{type(data).__name__} {split}".encode()) or 1
    return 0
