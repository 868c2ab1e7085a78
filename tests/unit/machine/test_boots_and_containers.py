"""Tickets, records and leases of another container, or of an earlier boot."""

from __future__ import annotations

import os
import select
import socket
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from dtrain_lab.head.lifetime import leases
from dtrain_lab.machine import processes, slot_tickets
from dtrain_lab.machine.folders import slots_folder
from dtrain_lab.placement.slots.slots import Ticket
from dtrain_lab.server import cluster_leases
from dtrain_lab.services.connection import head_records
from dtrain_lab.wire import VERSION
from dtrain_lab.wire.clients import Lease
from dtrain_lab.wire.processes.head_record import HeadRecord

BOOT, _, SPACE = processes.system().partition(" ")


@pytest.mark.parametrize(
    ("system", "counts", "stays"),
    [
        (f"{BOOT} {SPACE}", False, False),  # its process has ended
        (f"{BOOT} pid:[1]", False, True),  # another container: nobody here can tell
        (f"an-earlier-boot {SPACE}", False, False),
    ],
)
def test_a_ticket_is_removed_only_where_its_process_is_known_to_have_ended(
    system: str, counts: bool, stays: bool
) -> None:
    gone = Ticket("gone", "cluster", "gone", "me", 2**22 - 1, 1.0, 1, 0.0, holds=True)
    slot_tickets.put(gone)
    path = slots_folder() / f"gone.{gone.pid}.json"
    path.write_bytes(msgspec.json.encode(replace(gone, system=system)))
    assert any(t.id == "gone" for t in slot_tickets.living()) is counts
    assert path.exists() is stays
    path.unlink(missing_ok=True)


def test_a_ticket_of_another_version_counts_while_its_process_lives(caplog: pytest.LogCaptureFixture) -> None:
    """It had been skipped without a word, and its slots were given out a second time."""
    mine, gone = (slots_folder() / f"newer.{pid}.json" for pid in (os.getpid(), 2**22 - 1))
    for path in (mine, gone):
        path.write_bytes(b'{"id": "newer", "slots": 2, "devices": ["0", "1"]}')
    try:
        for _ in range(2):
            (found,) = (t for t in slot_tickets.living() if t.id == "newer")
            assert (found.pid, found.holds, found.slots, found.devices) == (os.getpid(), True, 2, ("0", "1"))
        assert not gone.exists()
        assert [str(mine) in record.message for record in caplog.records].count(True) == 1, "logged once"
    finally:
        mine.unlink()


@pytest.mark.parametrize("system", [f"{BOOT} pid:[1]", f"an-earlier-boot {SPACE}"])
def test_a_record_of_another_system_is_neither_used_nor_removed(system: str, tmp_path: Path) -> None:
    """Its number is that of a process here, or of none: both say nothing."""
    (tmp_path / "client").touch()
    for pid, started in ((os.getpid(), processes.started()), (2**22 - 1, 1.0)):
        record = HeadRecord(
            id=f"far{pid}", name="far", host=socket.gethostname(), pid=pid, started=started, socket="",
            directory=str(tmp_path), environment="", warm=False, created_at=0.0, version=VERSION,
            system=system,
        )  # fmt: skip
        head_records.write(record)
        assert record.id not in {r.id for r in head_records.living()}
        assert head_records.read(record.id) == record
        assert (tmp_path / "client").exists()
        head_records.forget(record.id)


@pytest.mark.parametrize(
    ("system", "started", "watched", "ended"),
    [
        (f"{BOOT} {SPACE}", processes.started(), True, False),
        (f"{BOOT} {SPACE}", processes.started() - 60, True, True),  # its number is another's by now
        (f"{BOOT} pid:[1]", processes.started(), False, False),
    ],
)
def test_a_lease_is_watched_where_its_holder_can_be_seen(
    system: str, started: float, watched: bool, ended: bool
) -> None:
    lease = Lease("python", socket.gethostname(), os.getpid(), started, system=system)
    descriptor = leases._watch(lease)
    assert (descriptor is not None) is watched
    if descriptor is not None:
        assert bool(select.select([descriptor], [], [], 0)[0]) is ended
        os.close(descriptor)


def test_a_server_whose_number_another_process_has_by_now_is_gone() -> None:
    mine, began = os.getpid(), processes.started()
    assert not cluster_leases._is_gone(mine, began)
    assert not cluster_leases._is_gone(mine, 0), "when it started is not known"
    assert cluster_leases._is_gone(mine, began - 60), "another process has its number"
    assert cluster_leases._is_gone(2**22 - 1, began)
