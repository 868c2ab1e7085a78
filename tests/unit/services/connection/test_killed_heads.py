"""What stays of a cluster whose head was killed: how it ended, and the head's log."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest
from msgspec.structs import replace

from dtrain_lab.errors import NotFound
from dtrain_lab.machine import atomic_files, processes, supervision
from dtrain_lab.services import endings, paths
from dtrain_lab.services.connection import head_records, presence
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.text import cluster_endings
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.processes.head_record import HeadRecord

DEAD = 2**22 + 1
"""A pid above the largest that Linux gives."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "records").mkdir(mode=0o700)
    monkeypatch.setattr(paths, "records", lambda: tmp_path / "records")
    return tmp_path


def left(folder: Path, name: str, *, log: str = "it broke\n", warm: bool = False, pid: int = DEAD) -> str:
    """What a head leaves that was killed, or that runs; returns its folder."""
    own = folder / name
    own.mkdir()
    (own / "head.log").write_text(log)
    record = HeadRecord(
        name,
        name,
        str(own),
        0.0,
        1,
        host=socket.gethostname(),
        system=processes.system(),
        pid=pid,
        started=processes.started(pid) if pid != DEAD else 1.0,
        warm=warm,
    )
    head_records.path_of(name).write_bytes(msgspec.json.encode(record))
    return str(own)


def test_a_killed_head_leaves_its_end_and_its_log(folder: Path) -> None:
    own = left(folder, "killed")
    before = head_records.ending_of("killed")
    assert Path(own).exists(), "to ask changes nothing"
    assert endings.of("killed") is None
    head_records.clean_up_killed("killed")
    ending = head_records.ending_of("killed")
    assert ending is not None
    assert before is not None
    assert replace(before, at=ending.at) == ending
    assert (ending.by, ending.name) == ("killed", "killed")
    assert Path(ending.log).read_text() == "it broke\n"
    assert not Path(own).exists()
    assert not head_records.path_of("killed").exists()
    assert head_records.ending_of("killed") == ending, "it is found once"
    gone = f"ended unexpectedly: its head process is gone (its log: {ending.log})"
    assert cluster_endings.how(ending) == gone
    assert presence.ended("killed", ending).message == f"killed {gone}."


def test_an_end_that_a_client_has_noted_stays_and_a_warm_head_is_no_cluster(folder: Path) -> None:
    left(folder, "hung", log="")
    endings.note("hung", Ending("server", at=1e12))
    left(folder, "warm", warm=True)
    left(folder, "silent", log="")
    left(folder, "runs", pid=os.getpid())
    assert [record.id for record in head_records.living()] == ["runs"]
    assert head_records.ending_of("hung") == Ending("server", at=1e12)
    assert head_records.ending_of("warm") is None
    assert head_records.ending_of("runs") is None
    silent = head_records.ending_of("silent")
    assert silent is not None
    assert cluster_endings.how(silent) == "ended unexpectedly: its head process is gone"
    assert list(endings.recent(1)) == ["hung"]


async def test_whoever_asks_for_its_cluster_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left(folder, "killed", log="")
    worlds = Worlds("terminal")
    with pytest.raises(NotFound, match=r"^killed ended unexpectedly: its head process is gone\."):
        await worlds.connect("killed")

    def unreadable(*_: object) -> None:
        raise OSError("full")

    monkeypatch.setattr(atomic_files, "swap", unreadable)
    left(folder, "other", log="")
    with pytest.raises(NotFound, match='There is no cluster "other"'):
        await worlds.connect("other")


def test_a_head_whose_folder_another_process_has_removed_is_worth_no_warning(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = left(folder, "killed")
    record = head_records.read("killed")
    assert record is not None
    shutil.rmtree(own)
    endings.note_killed(record)
    assert not caplog.records


async def test_a_client_removes_what_a_killed_head_has_left_beside_its_loop(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = subprocess.Popen(["sleep", "600"])
    own = left(folder, "killed", pid=head.pid)
    threads = []

    def removed(path: str, **how: bool) -> None:
        threads.append(threading.current_thread())
        rmtree(path, **how)

    rmtree = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", removed)
    client = Mock(id="killed", record=head_records.read("killed"))
    client.name = "killed"
    presence_of_head = presence.LocalHead(client)
    await presence_of_head.open()
    head.kill()
    head.wait()
    async with asyncio.timeout(20):
        while not client.close.called:
            await asyncio.sleep(0.01)
    assert "ended unexpectedly: its head process is gone (its log: " in presence_of_head.gone().message
    async with asyncio.timeout(20):
        while Path(own).exists():
            await asyncio.sleep(0.01)
    assert threading.main_thread() not in threads
    assert "ended unexpectedly: its head process is gone (its log: " in presence_of_head.gone().message
    presence_of_head.close()
    await supervision.here().close()
