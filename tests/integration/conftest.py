from __future__ import annotations

from collections.abc import Iterator

import pytest

import dtrain_lab as dt


@pytest.fixture(scope="module")
def pair() -> Iterator[dt.Cluster]:
    """Two ranks that several tests use; a test that breaks them puts them right."""
    with dt.start(ranks=2) as cluster:
        yield cluster
