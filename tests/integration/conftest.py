from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.services import paths
from dtrain_lab.services.connection import head_records


@pytest.fixture(scope="session", autouse=True)
def torch_stays_loaded() -> Iterator[None]:
    """A cluster that ends with its `with` leaves its fork server to the next, as after `%distributed stop`.

    Not in a test that has changed the environment, as no later start has that; nor where a test calls `stop`.
    """
    usual = _environment()

    def leave(cluster: dt.Cluster, *_: Any) -> None:
        cluster.stop_for(sys.executable if _environment() == usual else None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dt.Cluster, "__exit__", leave)
        yield


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


@pytest.fixture(scope="module", autouse=True)
def no_profile_left() -> Iterator[None]:
    """A profile goes with its module: the next one's list of jobs would begin with those of its folder."""
    folder = paths.profiles()
    before = set(folder.glob("*.toml"))
    yield
    for profile in set(folder.glob("*.toml")) - before:
        profile.unlink()


@pytest.fixture(scope="module")
def nothing_stays_loaded(torch_stays_loaded: None) -> Iterator[None]:
    """For tests of what a start makes and a stop ends: every process of a cluster is its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dt.Cluster, "__exit__", lambda cluster, *_: cluster.stop())
        for record in head_records.living():
            if record.warm:
                head_records.kill(record)
        yield


@pytest.fixture(scope="module")
def pair() -> Iterator[dt.Cluster]:
    """Two ranks that several tests use; a test that breaks them puts them right."""
    with dt.start(ranks=2) as cluster:
        yield cluster
