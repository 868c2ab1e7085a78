"""The dataset: its kind, its length, and the batches of this rank."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, default_collate

from dtrain_lab.errors import BadRequest
from dtrain_lab.training.inference.batch_shares import Batches

Collate = Callable[[list[Any]], Any]


def length(call: str, dataset: Any) -> int:
    """Number of samples of a dataset.

    Args:
        call: name of the function that the user called, for the error.
        dataset: the argument.

    Raises:
        BadRequest: It is not a dataset, has no length, or is empty.
    """
    if isinstance(dataset, DataLoader):
        raise BadRequest(
            f"{call} needs a dataset, but got a DataLoader.",
            "Pass loader.dataset, and its batch_size and collate_fn.",
            code="not_a_dataset",
        )
    kind = type(dataset).__name__
    if not (hasattr(dataset, "__getitem__") or hasattr(dataset, "__iter__")):
        raise BadRequest(
            f"{call} needs a dataset, but got {kind}.",
            "A dataset has __len__, and __getitem__ or __iter__: one of torch.utils.data, or a list.",
            code="not_a_dataset",
        )
    try:
        samples = len(dataset)
    except (TypeError, NotImplementedError):
        raise BadRequest(
            f"The dataset ({kind}) has no length, so its samples can't be divided among the ranks.",
            "Give its class a __len__, or make a list of it: list(dataset).",
            code="no_length",
        ) from None
    if samples < 1:
        raise BadRequest(f"The dataset ({kind}) is empty.", "Pass one sample or more.", code="empty_dataset")
    return samples


def is_sequential(dataset: Any) -> bool:
    """Whether samples can only be read one after the other, not by their index."""
    return isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__")


def loader(
    dataset: Any, batches: Batches, numbers: Sequence[int], collate: Collate | None, num_workers: int
) -> Iterable[Any]:
    """Load batches of a dataset.

    Args:
        dataset: map-style, or an iterable one, of which all samples up to the last batch are read.
        batches: those of the whole dataset.
        numbers: those to load, in this order; rising for an iterable dataset.
        collate: makes a batch of a list of samples; None for torch's own.
        num_workers: processes that load; at most one of them for an iterable dataset.
    """
    generator = torch.Generator()  # a loader draws a number from it; the user's own must not change
    if is_sequential(dataset):
        taken = _Taken(dataset, batches, numbers)
        workers = min(1, num_workers)
        collate = collate or default_collate
        return DataLoader(  # type: ignore[no-any-return]
            taken, batch_size=None, collate_fn=collate, generator=generator, **_workers(workers)
        )
    indices = [list(batches.of(number)) for number in numbers]
    return DataLoader(  # type: ignore[no-any-return]
        dataset, batch_sampler=indices, collate_fn=collate, generator=generator, **_workers(num_workers)
    )


def _workers(number: int) -> dict[str, Any]:
    """Options for workers that have the definitions of cells: Python 3.14 would start them without.

    Where "forkserver" is the default, Python doesn't tell whether the user has set it, or the default was
    used: both get "fork". "spawn", which only a user sets, stays.
    """
    default = multiprocessing.get_all_start_methods()[0]
    now = multiprocessing.get_start_method(allow_none=True)
    fork = number and default == "forkserver" and now in (None, default)
    return {"num_workers": number, "multiprocessing_context": "fork" if fork else None}


class _Taken(IterableDataset):  # type: ignore[misc]
    """Batches of an iterable dataset, as lists of samples; samples between them are read and dropped."""

    def __init__(self, dataset: Iterable[Any], batches: Batches, numbers: Sequence[int]) -> None:
        self._dataset = dataset
        self._spans = [batches.of(number) for number in numbers]
        self._samples = batches.samples

    def __iter__(self) -> Iterator[list[Any]]:
        samples = iter(self._dataset)
        read = 0
        for span in self._spans:
            for _ in range(span.start - read):
                self._next(samples, read)
                read += 1
            yield [self._next(samples, index) for index in span]
            read = span.stop
        if read == self._samples and next(samples, _END) is not _END:
            raise _uneven(self._samples, "more")

    def _next(self, samples: Iterator[Any], index: int) -> Any:
        sample = next(samples, _END)
        if sample is _END:
            raise _uneven(self._samples, str(index))
        return sample


_END = object()


def _uneven(promised: int, yielded: str) -> BadRequest:
    return BadRequest(
        f"The dataset's length is {promised}, but iterating it yields {yielded} samples.",
        "Let __len__ return the number of samples that __iter__ yields.",
        code="wrong_length",
    )
