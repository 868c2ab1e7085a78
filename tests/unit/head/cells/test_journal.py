"""The journal where somebody cleans up the folder it is in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dtrain_lab.head.cells import journal as journals
from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.wire.links import CellOutput


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    """A journal in which each output begins a segment."""
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 0)
    made = Journal(tmp_path, most_bytes=250)
    yield made
    made.close()


def add(journal: Journal, *texts: str) -> None:
    for text in texts:
        journal.add("[1]", CellOutput("c", 0, "stdout", text))


def texts(journal: Journal) -> list[str | None]:
    return [output.text for output in journal.read(-1, 100)]


def test_a_segment_that_vanished_costs_its_own_outputs_only(journal: Journal, tmp_path: Path) -> None:
    add(journal, "a", "b", "c")
    (tmp_path / "journal.1").unlink()
    assert texts(journal) == ["a", "c"]
    assert [entry.seq for entry in journal.raw(-1, "c", 1 << 20)[0]] == [0, 2]


def test_segments_that_vanished_are_dropped_as_others_are(journal: Journal, tmp_path: Path) -> None:
    add(journal, "a", "b", "c")
    for path in tmp_path.glob("journal.*"):
        path.unlink()
    add(journal, *"defghi")
    assert texts(journal)[-1] == "i"
    assert "a" not in texts(journal)


def test_a_full_disk_where_segments_vanished_ends_nothing(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(journal, "a", "b")
    for path in tmp_path.glob("journal.*"):
        path.unlink()

    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal, "_begin_segment", full)
    add(journal, "c")
    assert texts(journal) == []
    assert journal.next == 3


def test_256_mb_of_a_cluster_are_kept(tmp_path: Path) -> None:
    """The guide's number; then the oldest goes."""
    kept = Journal(tmp_path)
    try:
        add(kept, *["x" * (4 << 20)] * 70)
        size = sum(path.stat().st_size for path in tmp_path.glob("journal.*"))
    finally:
        kept.close()
    assert 240 << 20 < size <= 260 << 20
