"""Every listening socket of every process of a world."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import dtrain_lab as dt
from tests.books import write
from tests.hosts import command_line
from tests.integration.ranks import beside_ranks
from tests.waiting import wait_until

pytestmark = pytest.mark.processes


def test_nothing_listens_but_unix_sockets_of_ours_and_loopback(pair: dt.Cluster) -> None:
    pair.run("import torch.distributed as dist\ndist.barrier()")
    pair.view()
    record = pair._connection.record
    head = psutil.Process(record.pid)
    ranks = {r["pid"] for r in pair.info()["ranks"]}
    server = psutil.Process(min(ranks)).parent()  # not below the head, if another cluster has left it
    assert server is not None
    controller = beside_ranks(pair)
    assert len(controller) >= 2
    for process in {head, *head.children(recursive=True), server, *server.children(recursive=True)}:
        for connection in process.net_connections("inet"):
            if connection.status != psutil.CONN_LISTEN:
                continue
            assert connection.laddr.ip in ("127.0.0.1", "::1"), (process.cmdline(), connection)
            # gloo's data sockets in ranks, ipyparallel's (CURVE) in its controller: nobody else's
            assert process.pid in ranks or process in controller, (process.cmdline(), connection)
        for connection in process.net_connections("unix"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr:
                assert connection.laddr.startswith(record.directory), (process.cmdline(), connection)


def test_ipyparallel_runs_with_curve(pair: dt.Cluster) -> None:
    pair.view()
    security = Path(pair._connection.record.directory) / "ipp" / "security"
    for name in ("engine", "client"):
        assert json.loads((security / f"ipcontroller-{name}.json").read_text())["curve_serverkey"]


def test_ipyparallel_s_controller_cuts_off_who_shows_no_key(pair: dt.Cluster) -> None:
    pair.view()
    ports = set()
    for name in ("engine", "client"):
        path = Path(pair._connection.record.directory) / "ipp" / "security" / f"ipcontroller-{name}.json"
        info = json.loads(path.read_text())
        ports |= {v for v in info.values() if isinstance(v, int) and not isinstance(v, bool) and v > 1024}
    assert len(ports) >= 8

    def stays_s(port: int) -> float:
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=25) as stranger:
            while stranger.recv(1024):  # ZeroMQ's own limit is 30 s
                pass
        return time.monotonic() - began

    with ThreadPoolExecutor(len(ports)) as pool:
        assert max(pool.map(stays_s, sorted(ports))) < 15


def test_folders_and_files_are_closed_to_others(pair: dt.Cluster) -> None:
    record = pair._connection.record
    for folder in (Path(record.directory), Path(record.directory).parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("client", "link"):
        assert stat.S_IMODE((Path(record.directory) / name).stat().st_mode) == 0o600


def test_no_secret_on_a_command_line_or_in_an_environment(pair: dt.Cluster) -> None:
    pair.view()
    security = Path(pair._connection.record.directory) / "ipp" / "security"
    info = json.loads((security / "ipcontroller-engine.json").read_text())
    secrets = [s for s in (info.get("key"), info.get("curve_serverkey")) if s]
    assert secrets
    head = psutil.Process(pair._connection.record.pid)
    for process in [head, *head.children(recursive=True)]:
        seen = " ".join(process.cmdline()) + " ".join(process.environ().values())
        assert not any(secret in seen for secret in secrets)
    printed = pair.run("import os\nprint(sorted(os.environ.values()))").stdout[0]
    assert not any(secret in printed for secret in secrets)
    assert os.getuid() == Path(pair._connection.record.directory).stat().st_uid


def test_a_job_of_this_machine_listens_on_loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    cell = """import time, torch, torch.distributed as dist
dist.all_reduce(torch.ones(1))
print("joined", flush=True)
time.sleep(600)"""
    job = dt.submit(write(tmp_path / "listens.ipynb", [cell]), nodes=2, ranks_per_node=1)
    wait_until(lambda: job.logs().count("joined") == 2, 60, "its ranks to meet")
    found = [
        connection.laddr.ip
        for process in psutil.process_iter()
        if job.id in " ".join(command_line(process))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    job.cancel()
    assert job.wait(60) == "cancelled"
    assert len(found) >= 3, "the store of rank 0, and gloo's own"
    assert set(found) <= {"127.0.0.1", "::1"}
