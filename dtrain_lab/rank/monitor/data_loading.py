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
from dtrain_lab.rank.monitor.step.recorder import DATA, Recorder
from dtrain_lab.rank.monitor.step.waits import now
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
    hooks = _LoaderHooks(recorder, last_training, shards)
    usual = DataLoader.__iter__

    @untraced
    def begin(self: Any) -> Any:
        began = now()
        iterator = usual(self)
        if recorder.watches:
            with recorder.harmless():
                hooks.made_ns[iterator] = now() - began
        return iterator

    DataLoader.__iter__ = begin
    loaders.watch_batches(hooks.give)
    loaders.watch_iterators(hooks.make)


class _LoaderHooks:
    """What runs around the construction of each iterator of a loader, and around each of its batches.

    Args:
        recorder: records batches and waits.
        last_training: remembers the loader that training reads.
        shards: watches its sampler.
    """

    def __init__(self, recorder: Recorder, last_training: LastTraining, shards: Shards) -> None:
        self._recorder = recorder
        self._last_training = last_training
        self._shards = shards
        self.made_ns = weakref.WeakKeyDictionary[Any, int]()
        """Time that it took to make an iterator and start its workers; a part of its first batch's time."""
        self._sources = weakref.WeakKeyDictionary[Any, _Source]()
        """Which loader training reads is known by its batches: an iterator of a validation loader may be
        made before a training step."""
        self._unread = weakref.WeakKeyDictionary[Any, Any]()
        """Iterator that has given no batch → its loader, which nobody else may keep alive, as in
        `for x in DataLoader(…)`."""

    @untraced
    def make(self, construct: Any, iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        """Make an iterator, and note its loader.

        Args:
            construct: the iterator's `__init__`.
            iterator: the iterator.
            loader: its loader.
            *args: further arguments of `construct`.
            **kwargs: further arguments of `construct`, by name.
        """
        construct(iterator, loader, *args, **kwargs)
        if self._recorder.watches:
            with self._recorder.harmless():
                self._sources[iterator] = _Source(weakref.ref(loader), splits(loader))
                if not loader.persistent_workers:  # otherwise the two would keep each other alive
                    self._unread[iterator] = loader

    @untraced
    def give(self, following: Any, iterator: Any) -> Any:
        """Give the next batch of an iterator, and record how long training waits for it.

        It runs for each batch, so it calls no function of its own.

        Args:
            following: gives the batch.
            iterator: the iterator.

        Returns:
            The batch.
        """
        recorder = self._recorder
        if not recorder.watches:
            return following(iterator)
        made_ns = self.made_ns.pop(iterator, None)
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
            recorder.epoch_ended(began, iterator)
            raise
        finally:
            recorder.doing(0)
        samples = tokens = 0
        if trains:
            with recorder.harmless():
                samples, tokens = sizes(batch)
                source = self._sources.get(iterator)
                if source is not None:
                    self._last_training.read(source.loader)
                    if made_ns is not None and (loader := source.loader()) is not None:
                        self._shards.read(loader)
                    recorder.writer.cells[ring.SPLIT] = source.split
                self._shards.gave(batch)
                recorder.epoch(loaders.given(iterator), _length(iterator))
                recorder.writer.cells[ring.WORKERS] = 1 + loaders.workers(iterator)
        self._unread.pop(iterator, None)
        recorder.fetched(began, iterator, samples, tokens)
        return batch


def _length(iterator: Any) -> int:
    try:
        return len(iterator)
    except TypeError:  # iterable datasets have no length
        return 0
