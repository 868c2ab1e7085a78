"""Which loader training reads, as its batches tell."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.data_loading import watch_loaders

DATA: Any = list(range(16))


class Recorder(MagicMock):
    """Counts nothing; its header is `cells`."""

    @staticmethod
    @contextlib.contextmanager
    def harmless() -> Iterator[None]:
        yield


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    """Recorder, training and shards of hooks that are removed after the test."""
    monkeypatch.setattr(DataLoader, "__iter__", DataLoader.__iter__)
    for name in ("__init__", "__next__"):
        monkeypatch.setattr(_BaseDataLoaderIter, name, getattr(_BaseDataLoaderIter, name))
    recorder, seen, shards = Recorder(), MagicMock(), MagicMock()
    recorder.writer.cells = [0] * 64
    watch_loaders(recorder, seen, shards)
    return recorder, seen, shards


def test_the_split_is_that_of_the_loader_that_feeds_training(watched: tuple[Any, Any, Any]) -> None:
    """An iterator of another loader may be made, or read without gradients, in between."""
    recorder, seen, shards = watched
    training = DataLoader(DATA, 4, sampler=DistributedSampler(DATA, num_replicas=2, rank=0))
    validation = DataLoader(DATA, 4)
    batches, others = iter(training), iter(validation)
    next(batches)
    with torch.no_grad():
        next(others)
    assert recorder.writer.cells[ring.SPLIT] == 1
    assert [call.args[0]() for call in seen.read.mock_calls] == [training]
    next(batches)
    assert [call.args for call in shards.read.mock_calls] == [(training,)], "once an epoch"
    next(iter(validation))
    assert recorder.writer.cells[ring.SPLIT] == 0
