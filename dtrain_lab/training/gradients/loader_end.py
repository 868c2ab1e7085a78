"""Reports the last batch of a DataLoader, for which torch has no hook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
from torch.utils.data import DataLoader


class Watcher(Protocol):
    """Is notified of batches and of a loader's end."""

    def gave(self, iterator: object, last: bool) -> None:
        """Called when a loader has returned a batch.

        Args:
            iterator: the loader's iterator.
            last: whether it was the last batch.
        """

    def ended(self, iterator: object) -> None:
        """Called when a loader has no batch left."""


_watchers: list[Callable[[], list[Any]]] = []
"""Set once DataLoader's `__iter__` is replaced, which lasts as long as the process."""


def watch_epochs(watchers: Callable[[], list[Any]]) -> None:
    """Notify watchers of the batches of every DataLoader of this process.

    Args:
        watchers: returns those to notify now; called once per batch.
    """
    if not _watchers:
        DataLoader.__iter__ = _following(DataLoader.__iter__)
    _watchers[:] = [watchers]


def _following(make_iterator: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def begin(loader: Any) -> Any:
        iterator = make_iterator(loader)
        if torch.is_grad_enabled() and _watchers[0]():
            return _WatchedIterator(iterator, _length(loader))
        return iterator

    return begin


class _WatchedIterator(Iterator[Any]):
    """A loader's iterator that reports its batches; everything else is the iterator's own."""

    def __init__(self, iterator: Any, length: int) -> None:
        self._iterator = iterator
        self._length = length
        self._given = 0

    def __next__(self) -> Any:
        try:
            batch = next(self._iterator)
        except StopIteration:
            for watcher in _watchers[0]():
                watcher.ended(self)
            raise
        self._given += 1
        for watcher in _watchers[0]():
            watcher.gave(self, self._given == self._length)
        return batch

    def __len__(self) -> int:
        return len(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def _length(loader: Any) -> int:
    try:
        return len(loader)
    except TypeError:  # a stream has no length
        return 0
