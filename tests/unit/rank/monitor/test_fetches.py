"""Batches of loaders that have ended are told apart from those of a loader that lies in the same place."""

from __future__ import annotations

import pytest

from dtrain_lab.rank.monitor.step import loader_queues
from dtrain_lab.rank.monitor.step.loader_queues import LoaderQueues


class Loader:
    """An iterator of a loader."""


def test_validation_is_seen_though_the_next_loader_has_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    ids: dict[object, int] = {}
    monkeypatch.setattr(
        loader_queues, "id", lambda one: ids.setdefault(one, 7), raising=False
    )  # all in one place
    found = LoaderQueues()
    training, validation, next_epoch = Loader(), Loader(), Loader()
    found.put(training, 100, 8, 0)
    assert found.take() == (8, 0)
    for at in (200, 300):
        found.put(validation, at, 8, 0)
    found.put(next_epoch, 400, 8, 0)
    assert found.after_others() == 400, "training goes on where its loader was asked"
    assert found.take() == (8, 0)
