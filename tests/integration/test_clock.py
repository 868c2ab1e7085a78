"""The clock is set while ranks work: for all processes of a cluster, by a preloaded library."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

import dtrain_lab as dt
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]
# a container may not set the clock, and libfaketime's sleep fails in ipyparallel's controller
SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return failed;
    char text[32] = {0};
    int file = open(getenv("CLOCK_SET_BY"), O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, text, sizeof text - 1) > 0)
        now->tv_sec += atol(text);
    if (file >= 0)
        close(file);
    return 0;
}
"""
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
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("NO C COMPILER: what happens when the clock is set was not tested")
    (tmp_path / "clock.c").write_text(SHIM)
    library = tmp_path / "clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "clock.c"], check=True)
    path = tmp_path / "off"
    path.write_text("0")
    monkeypatch.setenv("CLOCK_SET_BY", str(path))
    monkeypatch.setenv("LD_PRELOAD", str(library))
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
