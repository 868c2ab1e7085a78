"""A job's record is on disk before anything relies on it, here and on a remote host."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.hosts.ssh_transport import SshTransport
from dtrain_lab.jobs import file_names as job_files

FILES = {job_files.JOB: b"{}", "code/train.ipynb": b"{}"}


def test_the_record_and_its_folders_are_synced_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, bytes]] = []
    usual = os.fsync

    def fsync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        synced.append((str(path), path.read_bytes() if path.is_file() else b""))
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    folder = tmp_path / "jobs" / "j"
    asyncio.run(LocalTransport().write(str(folder), FILES))
    record = (str(folder / job_files.JOB), b"{}")
    assert record in synced, "with all of its content"
    assert [path for path, _ in synced[synced.index(record) + 1 :]] == [str(folder), str(folder.parent)]


class Beside(SshTransport):
    """A remote host's commands, run on this machine with a `sync` that tells its arguments."""

    def __init__(self, commands: Path) -> None:
        super().__init__("beside")
        self.commands = commands

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        path = f"PATH={self.commands}:{os.environ['PATH']}"
        return await LocalTransport().run(["env", path, *command], stdin, within_s)


def test_the_record_and_its_folder_are_synced_on_a_host(tmp_path: Path) -> None:
    commands, told = tmp_path / "bin", tmp_path / "told"
    commands.mkdir()
    # `test -s`: the file has its content by then
    (commands / "sync").write_text(f'#!/bin/sh\nshift\ntest -s "$1" && echo "$@" >> {told}\n')
    (commands / "sync").chmod(0o700)
    folder = tmp_path / "jobs" / "j"
    host = Beside(commands)
    asyncio.run(host.write(str(folder), FILES))
    assert told.read_text() == f"{folder / job_files.JOB} {folder}\n"
    told.unlink()
    asyncio.run(host.replace(str(folder / job_files.JOB), b'{"new": 1}'))
    part, parent = told.read_text().splitlines()
    assert re.fullmatch(rf"{re.escape(str(folder / job_files.JOB))}\.\d+\.part", part)
    assert parent == str(folder)
    assert (folder / job_files.JOB).read_bytes() == b'{"new": 1}'
