"""The index of jobs: a look never undoes what was written meanwhile."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.core.job import End, Found
from dtrain_lab.core.job_state import job
from dtrain_lab.core.status import Status
from dtrain_lab.services.store import Store
from tests.unit.test_job_state import RECORD

FAILED = job(RECORD, Found(190.0, End(143, 200.0)), Status("ended"), 201.0)


def test_a_look_that_began_before_a_cancel_counts_for_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "jobs.sqlite")
    store.put(RECORD)
    cancelled = replace(RECORD, cancelled_at=195.0)
    store.put(cancelled)
    store.see(RECORD, FAILED)
    assert store.active() == [cancelled]
    assert store.seen() == []
    store.see(cancelled, replace(FAILED, state="cancelled"))
    assert store.active() == []
    assert [seen.state for seen in store.seen()] == ["cancelled"]


def test_of_two_that_clash_one_gets_in(tmp_path: Path) -> None:
    store, elsewhere = Store(tmp_path / "jobs.sqlite"), Store(tmp_path / "jobs.sqlite")
    twin = replace(RECORD, id="5678efab")
    assert store.add(RECORD, lambda other: other.name == RECORD.name) is None
    assert elsewhere.add(twin, lambda other: other.name == twin.name) == RECORD
    assert elsewhere.find(twin.id) is None
    store.see(RECORD, FAILED)
    assert elsewhere.add(twin, lambda other: other.name == twin.name) is None
    assert store.active() == [twin]


def test_a_look_brings_no_deleted_job_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "jobs.sqlite")
    store.put(RECORD)
    store.remove(RECORD.id)
    store.see(RECORD, FAILED)
    assert store.find(RECORD.id) is None
