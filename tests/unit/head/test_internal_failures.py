"""Failures inside a head and its agents, which clients see in the state of a cluster or a job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dtrain_lab.head.app import Head
from dtrain_lab.head.ownership.observer import Observer
from dtrain_lab.head.ownership.owner import Owner
from dtrain_lab.head.ownership.rank_ownership import Parts
from dtrain_lab.machine import supervision
from dtrain_lab.wire import links
from tests.fakes.head import head_settings, launch
from tests.unit.jobs.records import RECORD

Ownership = Callable[[Path, Parts], Owner | Observer]


def owner(folder: Path, parts: Parts) -> Owner:
    """Of a cluster."""
    return Owner(head_settings(folder, launch()), parts)


def observer(folder: Path, parts: Parts) -> Observer:
    """Of a job."""
    return Observer(folder, RECORD, parts)


@pytest.mark.parametrize("ownership", [owner, observer])
async def test_failures_of_agents_and_of_the_head_are_told_together(
    ownership: Ownership, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = Head("w", tmp_path, lambda parts: ownership(tmp_path, parts))
    if isinstance(head._ownership, Owner):
        head._ownership.world.launch(launch())
    changed: list[None] = []
    monkeypatch.setattr(head._watchers, "moved", lambda: changed.append(None))
    for node, at in ((0, 1.0), (1, 2.0), (1, 3.0)):
        failed = supervision.noted(None, "node.head", "OSError", at)
        head._from_link(b"n", links.encode(links.LoopFailed(node, (failed,))))
    (known,) = head._ownership.cluster().troubles
    assert (known.times, known.at) == (2, 3.0), "an agent tells all of its own each time"
    assert len(changed) == 3
    await supervision.here().close()
