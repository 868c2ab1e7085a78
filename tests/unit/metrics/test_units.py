"""Numbers with their units, as people write them."""

from __future__ import annotations

import pytest

from dtrain_lab.text.units import counted, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (3_100_000, "3.1 MB"),
        (2_500_000_000, "2.50 GB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text


def test_what_is_counted_has_its_number() -> None:
    assert [counted(n, "batch", "batches") for n in (0, 1, 2)] == ["0 batches", "1 batch", "2 batches"]
    assert [counted(n, "job") for n in (1, 1200)] == ["1 job", "1,200 jobs"]
