"""`dt.predict` and `dt.evaluate` on two real ranks: in cells, in jobs, under plain torchrun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
import torch

import dtrain_lab as dt
from dtrain_lab.errors import CellFailed
from tests.books import write
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

SETUP = """
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import IterableDataset, TensorDataset
import dtrain_lab as dt
torch.manual_seed(0)
x, y = torch.randn(101, 8), torch.arange(101) % 3
data = TensorDataset(x, y)
def make():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.5), nn.Linear(16, 3))
def by_hand(model, x, size):
    model.eval()
    with torch.no_grad():
        found = torch.cat([model(part) for part in x.split(size)])
    model.train()
    return found
model = make()
"""


@pytest.fixture(scope="module")
def ranks(pair: dt.Cluster) -> dt.Cluster:
    pair.run(SETUP)
    return pair


def said(cluster: dt.Cluster, code: str, timeout: float = 60) -> list[str]:
    """What each rank printed."""
    result = cluster.run(code, timeout=timeout)
    return [result.stdout[rank].strip() for rank in (0, 1)]


@pytest.mark.parametrize(("samples", "size"), [(101, 7), (101, 64), (100, 10), (3, 1), (1, 4), (5, 64)])
def test_every_rank_has_all_results_of_one_process(ranks: dt.Cluster, samples: int, size: int) -> None:
    code = f"""
found = dt.predict(model, TensorDataset(x[:{samples}], y[:{samples}]), batch_size={size})
print(torch.equal(found, by_hand(model, x[:{samples}], {size})), model.training)"""
    assert said(ranks, code) == ["True True"] * 2


def test_the_usual_batch_size_gives_the_same_on_any_number_of_ranks(ranks: dt.Cluster) -> None:
    assert said(ranks, "print(torch.equal(dt.predict(model, data), by_hand(model, x, 2)))") == ["True"] * 2


def test_each_sample_is_computed_once(ranks: dt.Cluster) -> None:
    code = """
mine = []
def watch(x):
    mine.extend(x[:, 0].tolist())
    return x
dt.predict(watch, x, batch_size=4)
everyone = [None, None]
dist.all_gather_object(everyone, mine)
print(len(mine), sorted(sum(everyone, [])) == sorted(x[:, 0].tolist()))"""
    counts = [line.split() for line in said(ranks, code)]
    assert [same for _, same in counts] == ["True"] * 2
    assert sum(int(count) for count, _ in counts) == 101
    assert abs(int(counts[0][0]) - int(counts[1][0])) <= 4


@pytest.mark.parametrize(
    "wrap",
    ["DDP(made)", "torch.compile(DDP(made), backend='eager')", "DDP(torch.compile(made, backend='eager'))"],
)
def test_wrapped_models_with_uneven_tails(ranks: dt.Cluster, wrap: str) -> None:
    """Running averages of ranks differ after training; DDP takes rank 0's."""
    code = f"""
made = make()
wrapped = {wrap}
wrapped(x[rank * 10: rank * 10 + 10]).sum().backward()
found = dt.predict(wrapped, data, batch_size=34)  # three batches
means = [torch.empty(16), torch.empty(16)]
dist.all_gather(means, made[1].running_mean)
print(torch.equal(found, by_hand(made, x, 34)), torch.equal(*means))
wrapped(x[:10]).sum().backward()"""
    assert said(ranks, code) == ["True True"] * 2


@pytest.mark.parametrize("samples", [101, 3, 40])
def test_fsdp_models_are_called_equally_often(ranks: dt.Cluster, samples: int) -> None:
    code = f"""
from torch.distributed.fsdp import fully_shard
from torch.distributed.device_mesh import init_device_mesh
made = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
torch.manual_seed(1)
for p in made.parameters(): p.data.normal_()
expected = by_hand(made, x[:{samples}], 20)
sharded = fully_shard(made, mesh=init_device_mesh('cpu', (2,)))
print(torch.allclose(dt.predict(sharded, data if {samples} == 101 else x[:{samples}], batch_size=20), expected))"""
    assert said(ranks, code) == ["True"] * 2


def test_what_comes_back_keeps_its_form(ranks: dt.Cluster) -> None:
    code = """
def model_(x):
    return {"x": x, "pair": (x[:, :1], x > 0), "words": [f"{v:.3f}" for v in x[:, 0].tolist()]}
found = dt.predict(model_, x, batch_size=9)
ragged = dt.predict(lambda v: torch.ones(len(v), 2 + (rank if len(v) == 9 else 0)), x, batch_size=9)
print(
    torch.equal(found["x"], x), torch.equal(found["pair"][1], x > 0), found["pair"][0].shape,
    found["words"] == [f"{v:.3f}" for v in x[:, 0].tolist()], sorted({len(row) for row in ragged}), len(ragged),
)"""
    assert said(ranks, code) == ["True True torch.Size([101, 1]) True [2, 3] 101"] * 2


def test_an_iterable_is_read_on_every_rank(ranks: dt.Cluster) -> None:
    code = """
class Stream(IterableDataset):
    def __len__(self): return len(x)
    def __iter__(self): return iter(x)
print(torch.equal(dt.predict(model, Stream(), batch_size=7), by_hand(model, x, 7)))
print(torch.equal(dt.predict(model, Stream(), batch_size=7, num_workers=1), by_hand(model, x, 7)))"""
    assert said(ranks, code) == ["True\nTrue"] * 2


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            "dt.predict(lambda v: 1 / 0 if rank == 1 else v, x)",
            "Rank 1 failed: ZeroDivisionError: division by zero.",
        ),
        (
            "dt.predict(lambda v: 1 / 0 if rank == 0 else v, x)",
            "Rank 0 failed: ZeroDivisionError: division by zero.",
        ),
        ("dt.predict(model, x[:50 + rank])", "The dataset's length is 50 on rank 0 and 51 on rank 1"),
        (
            "dt.predict(model, x if rank else iter(x))",
            "Rank 0 failed: BadRequest: The dataset (list_iterator)",
        ),
        (
            "torch.manual_seed(rank); dt.predict(nn.Linear(8, 1), x)",
            "parameters on rank 1 are not those of rank 0",
        ),
        ("dt.predict(lambda v: [lambda: 0] * len(v), x)", "pickle"),
    ],
    ids=["rank 1 raises", "rank 0 raises", "lengths", "one dataset", "parameters", "no pickle"],
)
def test_a_failure_on_one_rank_ends_the_call_on_all(ranks: dt.Cluster, code: str, sentence: str) -> None:
    with pytest.raises(CellFailed) as caught:
        ranks.run(code.replace("iter(x)", "iter(list(x))"), timeout=60)
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
        "PeerFailed dt.predict ended on this rank, too, as rank 1 failed: ZeroDivisionError: division by zero",
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
    assert said(ranks, code) == ["1", "1"]


METRICS = """
import torchmetrics as tm
def metrics():
    return {
        "confusion": tm.classification.MulticlassConfusionMatrix(3),
        "accuracy": tm.classification.MulticlassAccuracy(3, average="micro"),
        "auroc": tm.classification.MulticlassAUROC(3),
        "many": tm.MetricCollection([tm.classification.MulticlassF1Score(3), tm.classification.MulticlassRecall(3)]),
        "right": lambda predictions, targets: (predictions.argmax(1) == targets).sum(),
    }
def compare(samples, size):
    some = TensorDataset(x[:samples], y[:samples])
    found = dt.evaluate(model, some, metrics(), batch_size=size)
    predictions, exact = by_hand(model, x[:samples], size), metrics()
    assert found["right"] == int(exact["right"](predictions, y[:samples])), found
    assert found["confusion"].tolist() == exact["confusion"](predictions, y[:samples]).tolist(), found
    assert int(found["confusion"].sum()) == samples
    for name in ("accuracy", "auroc"):
        assert abs(found[name] - float(exact[name](predictions, y[:samples]))) < 1e-6, (name, found)
    for name, value in exact["many"](predictions, y[:samples]).items():
        assert abs(found["many"][name] - float(value)) < 1e-6
    print(samples, "equal")
"""


@pytest.mark.parametrize(("samples", "size"), [(101, 7), (101, 60), (30, 64), (3, 2)])
@pytest.mark.filterwarnings("ignore")
def test_metrics_are_those_of_one_process(ranks: dt.Cluster, samples: int, size: int) -> None:
    assert said(ranks, METRICS + f"compare({samples}, {size})") == [f"{samples} equal"] * 2


def test_a_bar_of_rank_0_counts_the_samples_of_all(ranks: dt.Cluster) -> None:
    code = """
from dtrain_lab.training.inference import loop
loop.BAR_AFTER_S = 0
dt.predict(model, x)
loop.BAR_AFTER_S = 1.0"""
    result = ranks.run(code)
    assert "dt.predict: 100%" in result.stderr[0]
    assert "101/101" in result.stderr[0]
    assert not result.stderr.get(1)


def read(path: Path) -> list[float]:
    table = pyarrow.parquet.read_table(path)
    return [row[0] for row in table.column("prediction").to_pylist()]


def test_a_rank_that_is_killed_costs_its_chunk_and_no_more(ranks: dt.Cluster, tmp_path: Path) -> None:
    code = f"""
import os, signal
calls = 0
def model_(v):
    global calls
    calls += 1
    if rank == 1 and calls == 10: os.kill(os.getpid(), signal.SIGKILL)
    return v
dt.predict(model_, x, batch_size=1, output={str(tmp_path / "x.parquet")!r})"""
    with pytest.raises(CellFailed, match="Rank 1 was lost"):
        ranks.run(code, timeout=60)
    ranks.restart([1])
    ranks.run(SETUP)
    code = f"""
calls = 0
def model_(v):
    global calls
    calls += len(v)
    return v
path = dt.predict(model_, x, batch_size=1, output={str(tmp_path / "x.parquet")!r})
print(path, calls)"""
    lines = said(ranks, code)
    assert "goes on with x.parquet: " in lines[0]
    assert [line.splitlines()[-1].split()[0] for line in lines] == [str(tmp_path / "x.parquet")] * 2
    there = int(lines[0].split("x.parquet: ")[1].split()[0])
    assert 18 <= there <= 19, "rank 0 may have one chunk more"
    assert sum(int(line.split()[-1]) for line in lines) == 101 - there
    torch.manual_seed(0)
    assert read(tmp_path / "x.parquet") == torch.randn(101, 8)[:, 0].tolist()


SCRIPT = """
import os, sys, torch
import dtrain_lab as dt
x = torch.arange(60.0).view(30, 2)
path = dt.predict(lambda v: v, x, batch_size=4, output=sys.argv[1])
found = dt.predict(lambda v: v, x, batch_size=4)
print("RANK", os.environ["RANK"], torch.equal(found, x), path == __import__("pathlib").Path(sys.argv[1]))
"""


def test_under_plain_torchrun_without_a_process_group(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(tmp_path / "main.py"), str(tmp_path / "x.parquet")],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "RANK 0 True True" in done.stdout
    assert "RANK 1 True True" in done.stdout
    assert read(tmp_path / "x.parquet") == torch.arange(60.0)[::2].tolist()


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
    assert "dt.predict goes on with x.parquet: 10 of 30 samples are there." in again.logs()
    assert again.logs().count("done after 10 calls") == 2
    path = next(line.split()[-1] for line in again.logs().splitlines() if "done after" in line)
    assert read(Path(path)) == torch.arange(60.0)[::2].tolist()
