"""Hooks on data loaders: find batches read, and how long training waits for them."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.utils.data import DataLoader

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.batches import sizes
from dtrain_lab.rank.monitor.checks.shards import Shards, splits
from dtrain_lab.rank.monitor.last_training import LastTraining
from dtrain_lab.rank.monitor.recorder import DATA, Recorder
from dtrain_lab.rank.monitor.waits import now
from dtrain_lab.rank.torch import loaders
from dtrain_lab.rank.torch.compiler import untraced


def watch_loaders(recorder: Recorder, seen: LastTraining, shards: Shards) -> None:
    """Install the hooks that count batches and time the wait for each.

    Args:
        recorder: records them.
        seen: remembers the loader that training reads.
        shards: watches its sampler.
    """
    took = weakref.WeakKeyDictionary[Any, int]()
    """Time that it took to make an iterator and start its workers, ns; a part of its first batch's time."""

    @untraced
    def give(following: Any, iterator: Any) -> Any:
        if not recorder.watches:
            return following(iterator)
        began = now() - took.pop(iterator, 0)
        trains = torch.is_grad_enabled()
        if trains:
            recorder.fetching(began)
        else:
            recorder.leave_training()
        recorder.doing(DATA)
        try:
            batch = following(iterator)
        except StopIteration:
            recorder.epoch_ended()
            raise
        finally:
            recorder.doing(0)
        samples = tokens = 0
        if trains:
            with recorder.harmless():
                samples, tokens = sizes(batch)
                shards.gave(batch)
                recorder.epoch(loaders.given(iterator), _length(iterator))
                recorder.writer.cells[ring.WORKERS] = 1 + loaders.workers(iterator)
        recorder.fetched(began, iterator, samples, tokens)
        return batch

    @untraced
    def make(made: Any, iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        made(iterator, loader, *args, **kwargs)
        if recorder.watches and torch.is_grad_enabled():
            with recorder.harmless():
                seen.read(loader)
                shards.read(loader)
                recorder.writer.cells[ring.SPLIT] = splits(loader)

    usual = DataLoader.__iter__

    @untraced
    def begin(self: Any) -> Any:
        began = now()
        iterator = usual(self)
        if recorder.watches:
            with recorder.harmless():
                took[iterator] = now() - began
        return iterator

    DataLoader.__iter__ = begin
    loaders.watch_batches(give)
    loaders.watch_iterators(make)


def _length(iterator: Any) -> int:
    try:
        return len(iterator)
    except TypeError:  # a stream has no length
        return 0
