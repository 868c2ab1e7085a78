"""Hooks on the iterators of DataLoaders, for which torch has no public hook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dtrain_lab.rank.torch import names
from dtrain_lab.rank.torch.compiler import untraced


def watch_batches(around: Callable[..., Any]) -> None:
    """Wrap the fetch of each batch from a DataLoader; does nothing without `names.LOADERS`.

    Args:
        around: called with the function that gives the batch, and the iterator.
    """
    iterator = _iterator_class()
    if iterator is None:
        return
    following = iterator.__next__

    @untraced
    def following_batch(self: Any) -> Any:
        return around(following, self)

    iterator.__next__ = following_batch


def watch_iterators(around: Callable[..., Any]) -> None:
    """Wrap the construction of each DataLoader iterator; does nothing without `names.LOADERS`.

    Args:
        around: called with the iterator's `__init__`, the iterator, its loader, and further arguments.
    """
    iterator = _iterator_class()
    if iterator is None:
        return
    construct = iterator.__init__

    @untraced
    def make(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
        around(construct, self, loader, *args, **kwargs)

    iterator.__init__ = make


def given(iterator: Any) -> int:
    """Number of batches that an iterator has given; 0 if it does not tell."""
    return int(getattr(iterator, "_num_yielded", 0))


def workers(iterator: Any) -> int:
    """Number of worker processes of an iterator; -1 where it does not tell."""
    return int(getattr(iterator, "_num_workers", -1))


def own_iterator(loader: Any) -> Any:
    """A new iterator, even of a loader with persistent workers; needs `names.DIAGNOSE`."""
    return loader._get_iterator()


def end_workers(iterator: Any) -> None:
    """End the worker processes of an iterator, if it has any."""
    end = getattr(iterator, "_shutdown_workers", None)
    if end is not None:
        end()


def _iterator_class() -> Any:
    if not names.has(names.LOADERS):
        return None
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    return _BaseDataLoaderIter
