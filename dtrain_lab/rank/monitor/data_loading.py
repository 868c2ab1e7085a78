"""Hooks on data loaders: find batches read, and how long training waits for them."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

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


class _Source(NamedTuple):
    """The loader of an iterator, and whether it gives each rank its own part of the data."""

    loader: weakref.ref[Any]
    split: bool


def watch_loaders(recorder: Recorder, last_training: LastTraining, shards: Shards) -> None:
    """Install the hooks that count batches and time the wait for each.

    Args:
        recorder: records them.
        last_training: remembers the loader that training reads.
        shards: watches its sampler.
    """
    took = weakref.WeakKeyDictionary[Any, int]()
    """Time that it took to make an iterator and start its workers, ns; a part of its first batch's time."""
    sources = weakref.WeakKeyDictionary[Any, _Source]()
    """Which loader training reads is known by its batches: an iterator of a validation loader may be made
    before a training step."""
    unread = weakref.WeakKeyDictionary[Any, Any]()
    """Iterator that has given no batch → its loader, which nobody else may keep: `for x in DataLoader(…)`."""

    @untraced
    def give(following: Any, iterator: Any) -> Any:
        if not recorder.watches:
            return following(iterator)
        made_ns = took.pop(iterator, None)
        began = now() - (made_ns or 0)
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
                source = sources.get(iterator)
                if source is not None:
                    loader = source.loader()
                    if loader is not None:
                        last_training.read(loader)
                        if made_ns is not None:
                            shards.read(loader)
                    recorder.writer.cells[ring.SPLIT] = source.split
                shards.gave(batch)
                recorder.epoch(loaders.given(iterator), _length(iterator))
                recorder.writer.cells[ring.WORKERS] = 1 + loaders.workers(iterator)
        unread.pop(iterator, None)
        recorder.fetched(began, iterator, samples, tokens)
        return batch

    @untraced
    def make(made: Any, iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        made(iterator, loader, *args, **kwargs)
        if recorder.watches:
            with recorder.harmless():
                sources[iterator] = _Source(weakref.ref(loader), splits(loader))
                if not loader.persistent_workers:  # otherwise the two would keep each other alive
                    unread[iterator] = loader

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
    except TypeError:  # iterable datasets have no length
        return 0
