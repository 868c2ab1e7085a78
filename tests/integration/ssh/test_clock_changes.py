"""The clock is set while ranks work: for all processes of a cluster, by a preloaded library."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest

import dtrain_lab as dt
from tests.books import write
from tests.fakes.clock import clock_library, set_by
from tests.hosts import need, running_hosts
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]
TRAIN = """
import torch, time
from pathlib import Path
from torch.nn.parallel import DistributedDataParallel as DDP
model = DDP(torch.nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train(seconds):
    until = time.monotonic() + seconds
    go = torch.ones(1)
    while go:
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step(); optimizer.zero_grad()
        time.sleep(0.02)
        go = torch.tensor(float(time.monotonic() < until))
        torch.distributed.broadcast(go, 0)
clock = Path({clock!r})
train(2.5)
for seconds in (7200, -10800):
    if rank == 0: clock.write_text(str(seconds))
    train(2.5)
print(int(time.time()))
"""


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file: by how many seconds the clock of processes begun in this test is off."""
    path = tmp_path / "clock"
    path.write_text("0")
    for name, value in set_by(clock_library(tmp_path), path).items():
        monkeypatch.setenv(name, value)
    return path


def test_a_cluster_goes_on(clock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(
        ["dtrain-lab", "cluster", "start", "--ranks", "2", "--name", "clocks", "--detach"],
        check=True,
        capture_output=True,
    )
    cluster: dt.Cluster = next(c for c in dt.clusters() if c.name == "clocks")
    try:
        asked = time.time()
        began = time.monotonic()
        result = cluster.run(TRAIN.format(clock=str(clock)), timeout=60)
        assert result.ok
        assert 7.0 < result.elapsed_s <= time.monotonic() - began
        points = cluster.history()
        steps = [p["step"] for p in points]
        assert steps == sorted(steps), "in the order of what happened"
        for off in (0, 7200, -10800):
            assert [p for p in points if abs(p["at"] - asked - off) < 60], f"points by the clock at {off} s"
        wait_until(lambda: "Ready." in cluster.info()["summary"]["text"], 10, "the sentence")
        # whoever comes after finds it: a process is known by its start since boot
        monkeypatch.delenv("LD_PRELOAD")
        assert any(c.name == "clocks" for c in dt.clusters())
    finally:
        cluster.stop()


LOOP = """import time, torch
from torch.nn.parallel import DistributedDataParallel as DDP
model = DDP(torch.nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(100000):
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step(); optimizer.zero_grad()
    time.sleep(0.02)
"""
WORKS = (
    LOOP
    + """    if step == 100:
        break
"""
)
FAILS = (
    LOOP
    + """    if torch.distributed.get_rank() == 1 and Path("/mnt/fail").exists():
        raise ValueError("the real one")
"""
)


@pytest.mark.hosts
def test_a_job_on_hosts_whose_clocks_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("sshd", "ssh-keygen")
    library = clock_library(tmp_path)
    with running_hosts(2) as hosts:
        hosts.own = "/mnt"
        # rank 1 fails first, and by its host's clock twenty minutes later than rank 0, which feels it
        for name, off in (("node1", -600), ("node2", 600)):
            (tmp_path / name).write_text(str(off))
            hosts.variables[name] = set_by(library, tmp_path / name)
        hosts.start_ssh()
        home = hosts.home()
        monkeypatch.setenv("HOME", str(home))
        write_profile("hosts", 'backend = "ssh"\nworkdir = "/mnt/dtl"\n[ssh]\nhosts = ["node1", "node2"]\n')
        book = write(tmp_path / "fails.ipynb", ["from pathlib import Path", FAILS])
        asked = time.time()
        job = dt.submit(book, "hosts", nodes=2, ranks_per_node=1)
        wait_until(
            lambda: job.info()["summary"]["text"].startswith("Training."), 60, "figures that count as fresh"
        )
        assert asked - 5 < job.info()["started_at"] < time.time() + 5
        ssh = ["ssh", "-F", str(home / ".ssh" / "config"), "node2", "touch", "/mnt/fail"]
        subprocess.run(ssh, check=True)
        assert job.wait(60) == "failed"
        info = job.info()
        assert (info["failed_rank"], info["error"]["message"]) == (1, "the real one")
        assert info["started_at"] < info["ended_at"] < time.time() + 5


@pytest.mark.hosts
def test_a_cluster_on_a_host_whose_clock_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("sshd", "ssh-keygen")
    library = clock_library(tmp_path)
    off = -600
    (tmp_path / "off").write_text(str(off))
    with running_hosts(1) as hosts:
        hosts.variables["node1"] = set_by(library, tmp_path / "off")
        hosts.start_ssh()
        monkeypatch.setenv("HOME", str(hosts.home()))
        write_profile("hosts", 'backend = "ssh"\n[ssh]\nhosts = ["node1"]\n')
        began = time.time()
        with dt.start("hosts", ranks=2) as cluster:
            own = float(cluster.run("import time; print(time.time())").stdout[0])
            assert abs(own - time.time() - off) < 60, "its clock is off"
            running = threading.Thread(target=cluster.run, args=(WORKS,))
            running.start()
            seen = wait_until(lambda: cluster.info()["running"], 20, "the cell")
            times = [cluster.info()["created_at"], seen[0]["started_at"]]
            running.join(60)
            info = cluster.info()
            times += [info["idle_since"]]
            assert info["ends_at"] > info["idle_since"]
            points = cluster.history(since=began - 5)
            assert points, "asked for by our clock, too"
            times += [p["at"] for p in points]
            assert all(began - 5 < at < time.time() + 5 for at in times), (began, times)
