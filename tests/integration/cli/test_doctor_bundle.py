"""`dtrain-lab doctor --bundle`: what a bug report needs, and nothing that is nobody else's business."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import tarfile
import time
from pathlib import Path

import msgspec
import pytest

from dtrain_lab.machine import processes, supervision
from dtrain_lab.machine.logs import event_logs
from dtrain_lab.services import paths
from dtrain_lab.services.connection import head_records
from dtrain_lab.wire import VERSION
from dtrain_lab.wire.processes.head_record import HeadRecord

SECRET = "PLANTED0123456789"


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Secrets wherever one could lie."""
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WANDB_API_KEY", f"{SECRET}env")
    profiles = paths.profiles()
    profiles.mkdir(parents=True)
    (profiles / "mine.toml").write_text(
        f'# {SECRET}comment\nbackend = "slurm"\nworkdir = "/work"\n'
        f'[environment]\nsetup = ["export HF_TOKEN={SECRET}setup"]\n'
        f'[environment.variables]\nWHATEVER = "{SECRET}variable"\n'
    )
    (profiles / "broken.toml").write_text(f'password = "{SECRET}broken')
    world = tmp_path / "world"
    world.mkdir()
    mine = processes.started()
    record = HeadRecord(
        id="c1",
        name="told",
        host=socket.gethostname(),
        pid=os.getpid(),
        started=mine,
        socket=str(world / "client"),
        directory=str(world),
        environment="",
        warm=True,
        created_at=1.0,
        version=VERSION,
    )
    head_records.write(record)
    (world / "head.log").write_text(f"it ran with {SECRET}variable\nssh://me:{SECRET}url@host\n")
    (world / "head.events.log").write_text("2026-01-01T00:00:00Z INFO dtrain_lab.head[1] ready\n")
    (world / "rank.0.log").write_text(f"{SECRET}printed by the user")
    (Path(paths.records()) / "jpserver-1.json").write_text(json.dumps({"token": f"{SECRET}token"}))
    (paths.records().parent / "jpserver-1.json").write_text(json.dumps({"token": f"{SECRET}token"}))
    handler = event_logs.to_file(paths.logs() / f"server.1{event_logs.SUFFIX}", "dtrain_lab.planted")
    logging.getLogger("dtrain_lab.planted").warning(
        "GET /lab?token=%s, again %s", f"{SECRET}x", f"{SECRET}token"
    )
    logging.getLogger("dtrain_lab.planted").removeHandler(handler)
    handler.close()
    trouble = supervision.noted(None, "server.keep", f"OSError: {SECRET}env", time.time())
    (paths.logs() / "troubles.server.1.json").write_bytes(msgspec.json.encode((trouble,)))
    return tmp_path


def test_a_bundle_has_what_helps_and_no_secret(planted: Path) -> None:
    file = planted / "report.tar.gz"
    done = subprocess.run(
        ["dtrain-lab", "doctor", "--bundle", str(file), "--json"], capture_output=True, text=True, check=False
    )
    report = json.loads(done.stdout)
    assert "without secrets" in report["bundle"], done.stderr
    assert report["recovered"]["server 1"].startswith(
        'Background task "keeping clusters" restarted once (OSError'
    )
    assert file.stat().st_mode & 0o777 == 0o600
    with tarfile.open(file) as archive:
        parts = {m.name: archive.extractfile(m).read().decode() for m in archive}  # type: ignore[union-attr]
    assert all(name.startswith("dtrain-lab-report/") for name in parts)
    names = {name.removeprefix("dtrain-lab-report/") for name in parts}
    assert names >= {
        *("report.json", "clusters.json", "jobs.json", "profiles/mine.json", "profiles/broken.json"),
        *("logs/cluster-c1/head.log", "logs/cluster-c1/head.events.log"),
        *("logs/processes/server.1.events.log", "logs/processes/troubles.server.1.json"),
    }
    leaks = [name for name, text in parts.items() if SECRET in text]
    assert leaks == []
    assert not any("rank.0" in name for name in names)
    profile = json.loads(parts["dtrain-lab-report/profiles/mine.json"])
    assert profile["workdir"] == "/work"
    assert list(profile["environment"]["variables"]) == ["WHATEVER"]
    assert json.loads(parts["dtrain-lab-report/report.json"])["packages"]["torch"]


def test_a_record_that_can_not_be_read_hides_no_other(planted: Path) -> None:
    (paths.records() / "a-folder.json").mkdir()  # reading it is an OSError, whoever we are
    (paths.records() / "of-another-version.json").write_text("{}")
    assert [r.name for r in head_records.living()] == ["told"]


def test_a_bundle_that_can_not_be_written_is_an_error(planted: Path) -> None:
    done = subprocess.run(
        ["dtrain-lab", "doctor", "--bundle", str(planted / "no" / "x.tar.gz")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "can't be written" in done.stdout + done.stderr
