"""`dt.predict` where something breaks: a rank raises, is killed, or its job is."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import torch

import dtrain_lab as dt
from dtrain_lab.errors import CellFailed
from dtrain_lab.training.inference.loop import AHEAD
from tests.books import write
from tests.integration.inference.reference import SETUP, read, said
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

FSDP = """
from torch.distributed.fsdp import fully_shard
from torch.distributed.device_mesh import init_device_mesh
sharded = fully_shard(nn.Linear(8, 4), mesh=init_device_mesh('cpu', (2,)))
"""


@pytest.fixture(scope="module")
def ranks(pair: dt.Cluster) -> dt.Cluster:
    pair.run(SETUP)
    return pair


FAILURES = {
    "rank 1": (
        "dt.predict(lambda v: 1 / 0 if rank == 1 else v, x)",
        "Rank 1 failed: ZeroDivisionError: division",
    ),
    "rank 0": (
        "dt.predict(lambda v: 1 / 0 if rank == 0 else v, x)",
        "Rank 0 failed: ZeroDivisionError: division",
    ),
    "lengths": ("dt.predict(model, x[:50 + rank])", "The dataset's length is 50 on rank 0 and 51 on rank 1"),
    "outputs": (
        "dt.predict(model, x, output=f'/tmp/{rank}.arrow')",
        "output is /tmp/0.arrow on rank 0 and /tmp/1.arrow on rank 1.",
    ),
    "one output": (
        "dt.predict(model, x, output=None if rank else '/tmp/x.arrow')",
        "output is /tmp/x.arrow on rank 0 and None on rank 1.",
    ),
    "one dataset": (
        "dt.predict(model, x if rank else iter([]))",
        "Rank 0 failed: BadRequest: The dataset",
    ),
    "parameters": (
        "torch.manual_seed(rank); dt.predict(nn.Linear(8, 1), x)",
        "The model's parameters on rank 1 differ from those on rank 0: weight, bias.",
    ),
    "buffers": (
        "own = nn.Sequential(nn.BatchNorm1d(8)); own(x[50 * rank :][:50]); dt.predict(own, x)",
        "The model's buffers on rank 1 differ from those on rank 0: 0.running_mean, 0.running_var.",
    ),
    "metric": ("dt.evaluate(model, data, lambda p, t: 1 / rank)", "Rank 0 failed: ZeroDivisionError"),
    "FSDP": (
        FSDP + "dt.predict(sharded, x, collate_fn=lambda some: x[:len(some)] / (1 // rank))",
        "Rank 0 failed: ZeroDivisionError",
    ),
    "no pickle": ("dt.predict(lambda v: [lambda: 0] * len(v), x)", "pickle"),
}


@pytest.mark.parametrize(("code", "sentence"), FAILURES.values(), ids=FAILURES)
def test_a_failure_on_one_rank_ends_the_call_on_all(ranks: dt.Cluster, code: str, sentence: str) -> None:
    with pytest.raises(CellFailed) as caught:
        ranks.run(code, timeout=60)
    assert sentence in str(caught.value)
    assert caught.value.code != "timeout"
    assert said(ranks, "print(dt.predict(model, x).shape[0])") == ["101"] * 2, "the ranks go on together"


def test_the_other_ranks_are_told_which_one_failed(ranks: dt.Cluster) -> None:
    code = """
try:
    dt.predict(lambda v: 1 / 0 if rank == 1 else v, x)
except Exception as error:
    print(type(error).__name__, error)"""
    assert said(ranks, code) == [
        "PeerFailed dt.predict ended on this rank, too, as rank 1 failed: "
        "ZeroDivisionError: division by zero",
        "ZeroDivisionError division by zero",
    ]


def test_a_failure_ends_the_others_after_their_chunk(ranks: dt.Cluster) -> None:
    code = """
calls = 0
def model_(v):
    global calls
    calls += 1
    if rank == 1: raise ValueError("early")
    return v
try:
    dt.predict(model_, x, batch_size=1)
except Exception:
    print(calls)"""
    calls = [int(text) for text in said(ranks, code)]
    assert calls[1] == 1
    assert 1 <= calls[0] <= 1 + AHEAD, "rank 0 may be ahead"


def test_a_rank_that_is_killed_costs_its_chunk_and_no_more(ranks: dt.Cluster, tmp_path: Path) -> None:
    code = f"""
import os, signal
calls, seen, kills = 0, 0, [{str(tmp_path / "killed")!r}]
def model_(v):
    global calls, seen
    calls, seen = calls + 1, seen + len(v)
    if rank == 1 and calls == 10 and not os.path.exists(kills[0]):
        open(kills[0], "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return v
path = dt.predict(model_, x, batch_size=1, output={str(tmp_path / "x.parquet")!r})
print(path, seen)"""
    with pytest.raises(CellFailed, match="Rank 1 was lost"):
        ranks.run(code, timeout=60)
    assert (tmp_path / ".x.parquet.parts").is_dir(), "what is there lies beside the file"
    ranks.restart([1])
    ranks.run(SETUP)
    lines = said(ranks, code)
    assert "resumes x.parquet: " in lines[0]
    assert [line.splitlines()[-1].split()[0] for line in lines] == [str(tmp_path / "x.parquet")] * 2
    there = int(lines[0].split("x.parquet: ")[1].split()[0])
    assert 9 + 1 <= there <= 9 + 51, "rank 0 may be ahead, or behind: rank 1 has read its first report only"
    assert sum(int(line.split()[-1]) for line in lines) == 101 - there
    torch.manual_seed(0)
    assert read(tmp_path / "x.parquet") == torch.randn(101, 8)[:, 0].tolist()


CELL = """%%distributed
import os, time, torch
import dtrain_lab as dt
x = torch.arange(60.0).view(30, 2)
calls = 0
def model(v):
    global calls
    calls += 1
    print("call", calls, flush=True)
    while calls > 5 and not os.path.exists({go!r}):
        time.sleep(0.02)
    return v
path = dt.predict(model, x, batch_size=1, output="x.parquet")
print("done after", calls, "calls", path)"""


def test_a_resumed_job_goes_on_where_the_first_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    go = tmp_path / "go"
    job = dt.submit(write(tmp_path / "books" / "infer.ipynb", [CELL.format(go=str(go))]), ranks=2)
    wait_until(lambda: [r["pid"] for r in job.info()["ranks"] if r["pid"]], 60, "the ranks")
    wait_until(lambda: job.logs().count("call 6") == 2, 60, "both ranks to stand in their sixth call")
    for rank in job.info()["ranks"]:
        os.kill(rank["pid"], signal.SIGKILL)
    assert job.wait(60) == "failed"
    go.touch()
    again = job.resume()
    assert again.wait(60) == "succeeded", again.logs()
    assert "dt.predict resumes x.parquet: 10 of 30 samples are already written." in again.logs()
    assert again.logs().count("done after 10 calls") == 2
    path = next(line.split()[-1] for line in again.logs().splitlines() if "done after" in line)
    assert read(Path(path)) == torch.arange(60.0)[::2].tolist()
