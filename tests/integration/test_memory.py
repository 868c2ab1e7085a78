"""Ranks that need more memory than there is: the kernel ends them, for real."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.machine.cgroup import ROOT
from tests.books import write
from tests.faults import note
from tests.integration.test_jobs_local import terminal

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
LIMIT = 2_500_000_000
TAKES = (
    "if rank == 1:\n    takes = b'x' * 4_000_000_000\nelse:\n    import torch.distributed as d; d.barrier()"
)
TOLD = "killed by the kernel, out of memory; its node may use 2.50 GB: use smaller batches or fewer ranks"


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
    until = time.monotonic() + 20
    while group.exists() and time.monotonic() < until:  # its processes are ending
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.1)


def test_a_rank_of_a_cluster_says_so_and_what_to_do(inside: list[str]) -> None:
    words = ["dtrain-lab", "cluster", "start", "--ranks", "2", "--name", "little", "--detach"]
    subprocess.run([*inside, *words], check=True, capture_output=True)
    cluster: dt.Cluster = next(c for c in dt.clusters() if c.name == "little")
    try:
        began = time.monotonic()
        result = cluster.run(TAKES, timeout=60, check=False)
        assert result.sentence.startswith(f"Rank 1 was lost: {TOLD}"), result.sentence
        note(
            "a rank uses up the memory (OOM kill)",
            "its node agent, by the control group's count",
            "Rank 1 was lost: killed by the kernel, out of memory; its node may use 64.00 GB: raise "
            "memory_per_node.",
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
