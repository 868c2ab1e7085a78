"""No memory left, no disk left, whoever ran the cell is gone or does not read: for real."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import dtrain_lab as dt
from dtrain_lab.errors import StartFailed
from dtrain_lab.machine.cgroup import ROOT
from dtrain_lab.services import paths
from tests.books import write
from tests.faults import note
from tests.integration.jobs.local_jobs import terminal
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(180),
    pytest.mark.usefixtures("nothing_stays_loaded"),
]
LIMIT = 2_500_000_000
TAKES = (
    "if rank == 1:\n    takes = b'x' * 4_000_000_000\nelse:\n    import torch.distributed as d; d.barrier()"
)
TOLD = "killed by the kernel, out of memory (its node's limit is 2.50 GB); use smaller batches or fewer ranks"


@pytest.fixture
def inside() -> Iterator[list[str]]:
    """Words of a shell that begin a command in a group with little memory."""
    version_1 = (ROOT / "memory").is_dir()
    group = (ROOT / "memory" if version_1 else ROOT) / f"dtl-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if version_1 else "memory.max")).write_text(str(LIMIT))
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")
    yield ["bash", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "inside"]
    wait_until(lambda: removed(group), 20, "its processes to end")


def removed(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:  # somebody is still in it
        return False
    return True


def test_a_rank_of_a_cluster_says_so_and_what_to_do(inside: list[str]) -> None:
    words = ["dtrain-lab", "cluster", "start", "--ranks", "2", "--name", "little", "--detach"]
    subprocess.run([*inside, *words], check=True, capture_output=True)
    cluster: dt.Cluster = next(c for c in dt.clusters() if c.name == "little")
    try:
        began = time.monotonic()
        result = cluster.run(TAKES, timeout=60, check=False)
        assert result.sentence.startswith(f"Rank 1 was lost: {TOLD}"), result.sentence
        note(
            "a rank runs out of memory (OOM kill)",
            "the cluster: the node's Linux kernel counts OOM kills",
            result.sentence.partition(" Rank 0")[0],
            "variables, models and groups of all others",
            "allocation of 4 GB begun → cell ended",
            time.monotonic() - began,
        )
        cluster.restart([1])
        assert cluster.run("import torch.distributed as d\nd.barrier()", timeout=60).ok
    finally:
        cluster.stop()


def test_a_rank_of_a_job_says_so(inside: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    book = write(tmp_path / "takes.ipynb", [TAKES])
    done = subprocess.run(
        [*inside, "dtrain-lab", "submit", str(book), "--ranks", "2", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    job: Any = next(j for j in dt.jobs() if j.id in done.stdout)
    assert job.wait(90) == "failed"
    assert f"rank 1 was {TOLD}" in job.info()["summary"]["text"], job.info()["summary"]
    assert terminal("job", "show", job.id)["failed_rank"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own size needs root")
def test_a_full_disk_costs_no_line_and_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="dtl") as small:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m,mode=700", "none", small], check=True)
        monkeypatch.setenv("DTRAIN_LAB_RUNTIME_DIR", small)
        cluster = dt.start(ranks=2, name="full")
        try:
            began = time.monotonic()
            result = cluster.run("for i in range(50_000): print(i, 'x' * 80)", timeout=90)
            took = time.monotonic() - began
            for text in result.stdout.values():
                assert [line.split()[0] for line in text.splitlines()] == [str(i) for i in range(50_000)]
            result = cluster.run("import os\nos._exit(3)", ranks=[1], check=False)
            assert result.sentence == "Rank 1 was lost: exited with code 3."
            cluster.restart([1])
            assert cluster.run("import torch.distributed as d\nd.barrier()", timeout=60).ok
            note(
                "the disk of the output journal is full (8 MB of output, 6 MB of disk)",
                "the cluster, which drops the oldest output",
                "–",
                "every line reaches the notebook; the latest can be replayed",
                "cell ended",
                took,
            )
        finally:
            cluster.stop()
            subprocess.run(["umount", "-l", small], check=True)


def processes_with(value: str) -> list[int]:
    """Pids of other processes with this value in their environment."""
    found = psutil.process_iter(["environ"])
    return [p.pid for p in found if value in str(p.info["environ"]) and p.pid != os.getpid()]


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own size needs root")
@pytest.mark.parametrize("filled", ["before", "meanwhile"])
def test_a_start_on_a_full_disk_says_so_and_leaves_nothing(
    filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="dtl") as small:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", small], check=True)
        try:
            monkeypatch.setenv("DTRAIN_LAB_RUNTIME_DIR", small)
            home = paths.sockets()  # as an earlier cluster has left it
            known = set(paths.records().glob("*.json"))
            with contextlib.suppress(OSError), Path(small, "data").open("wb", 0) as file:
                while True:
                    file.write(bytes(4096))
            if filled == "meanwhile":  # after the look
                monkeypatch.setattr(paths, "check_writable", lambda: None)
            began = time.monotonic()
            with pytest.raises(StartFailed, match=f"disk of {small}.* is full") as refused:
                dt.start(ranks=2, name="nowhere")
            note(
                "the disk for the sockets and logs of a cluster (`/tmp`) is full when it starts",
                "the start",
                refused.value.message.replace(str(home), "/tmp/dtrain-lab-UID"),
                "the failed start leaves nothing behind",
                "start → refused",
                time.monotonic() - began,
            )
            assert "DTRAIN_LAB_RUNTIME_DIR" in refused.value.hint
            assert list(home.iterdir()) == []
            assert set(paths.records().glob("*.json")) <= known
            assert "nowhere" not in [cluster.name for cluster in dt.clusters()]
            wait_until(lambda: not processes_with(small), 20, "what was started to end")
        finally:
            subprocess.run(["umount", "-l", small], check=True)


HOLDER = """
import dtrain_lab as dt
cluster = dt.start(ranks=2, name="held")
cluster.run({code!r})
"""


READS = """
import sys
import dtrain_lab as dt
cluster = dt.start(ranks=2, name="slow")
result = cluster.run({code!r}, ranks=[0])
lines = result.stdout[0].splitlines()
numbers = [int(line.split()[0]) for line in lines]
sys.exit(0 if numbers == list(range({count})) else f"{{len(numbers)}} lines")
"""
LINES, LINE_BYTES = 15_000, 8_000
WAITS_BYTES = 40 << 20
"""What the head may hold for a client that does not read, with what it has read of its journal."""


def test_whoever_stops_reading_costs_the_head_no_memory_and_misses_no_line() -> None:
    code = f"for i in range({LINES}): print(i, 'x' * {LINE_BYTES})\nkept = i"
    reader = subprocess.Popen([sys.executable, "-c", READS.format(code=code, count=LINES)])
    try:
        wait_until(lambda: any(c.name == "slow" and c.info()["running"] for c in dt.clusters()), 60, "a cell")
        reader.send_signal(signal.SIGSTOP)
        cluster: dt.Cluster = next(c for c in dt.clusters() if c.name == "slow")
        head = psutil.Process(cluster._connection.record.pid)
        before = head.memory_info().rss
        wait_until(lambda: not cluster.info()["running"], 90, "the cell's end")
        grown = head.memory_info().rss - before
        assert grown < WAITS_BYTES, f"{grown >> 20} MB for {LINES * LINE_BYTES >> 20} MB of output"
        began = time.monotonic()
        reader.send_signal(signal.SIGCONT)
        assert reader.wait(60) == 0, "it has every line, in order"
        note(
            "the notebook is suspended and stops reading while its cell prints 115 MB",
            f"the cluster, which then holds {grown >> 20} MB in memory and the rest on disk",
            "–",
            "every line, up to the 256 MB that the journal keeps; beyond that, the missing amount is shown",
            "reads again → all output received",
            time.monotonic() - began,
        )
    finally:
        reader.kill()
        reader.wait()


@pytest.mark.parametrize("ends", ["killed", "stopped"])
def test_whoever_runs_a_cell_may_die_or_stop_reading_and_it_goes_on(ends: str) -> None:
    code = "for i in range(100_000): print(i, 'a line that nobody reads')\nkept = i"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER.format(code=code)])
    try:
        wait_until(lambda: any(c.name == "held" for c in dt.clusters()), 60, "the cluster")
        cluster: dt.Cluster = next(c for c in dt.clusters() if c.name == "held")
        wait_until(lambda: bool(cluster.info()["running"]), 60, "the cell to run")
        began = time.monotonic()
        holder.send_signal(signal.SIGKILL if ends == "killed" else signal.SIGSTOP)
        wait_until(lambda: not cluster.info()["running"], 60, "the cell's end")
        assert cluster.run("print(kept)", timeout=20).stdout == {0: "99999\n", 1: "99999\n"}
        if ends == "killed":
            note(
                "the notebook's kernel is killed while a cell runs",
                "the cluster",
                "–",
                "everything: the cell runs to its end, and its output is kept",
                "the cell's own end",
                time.monotonic() - began,
            )
            cluster.stop()
        else:
            holder.send_signal(signal.SIGCONT)
            assert holder.wait(60) == 0, "it has read all, and stops the cluster as it ends"
    finally:
        holder.kill()
        holder.wait()
