"""`dt.predict` and `dt.evaluate` on two real ranks: in cells and under plain torchrun."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import dtrain_lab as dt
from tests.integration.inference.reference import SETUP, read, said

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def ranks(pair: dt.Cluster) -> dt.Cluster:
    pair.run(SETUP)
    return pair


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
print(torch.allclose(dt.predict(sharded, x[:{samples}], batch_size=20), expected))"""
    assert said(ranks, code) == ["True"] * 2


def test_what_comes_back_keeps_its_form(ranks: dt.Cluster) -> None:
    code = """
def model_(x):
    return {"x": x, "pair": (x[:, :1], x > 0), "words": [f"{v:.3f}" for v in x[:, 0].tolist()]}
found = dt.predict(model_, x, batch_size=9)
ragged = dt.predict(lambda v: torch.ones(len(v), 2 + (rank if len(v) == 9 else 0)), x, batch_size=9)
print(
    torch.equal(found["x"], x), torch.equal(found["pair"][1], x > 0), found["pair"][0].shape,
    found["words"] == [f"{v:.3f}" for v in x[:, 0].tolist()], {len(row) for row in ragged}, len(ragged),
)"""
    assert said(ranks, code) == ["True True torch.Size([101, 1]) True {2, 3} 101"] * 2


def test_an_iterable_is_read_on_every_rank(ranks: dt.Cluster) -> None:
    code = """
class Stream(IterableDataset):
    def __len__(self): return len(x)
    def __iter__(self): return iter(x)
print(torch.equal(dt.predict(model, Stream(), batch_size=7), by_hand(model, x, 7)))
print(torch.equal(dt.predict(model, Stream(), batch_size=7, num_workers=1), by_hand(model, x, 7)))"""
    assert said(ranks, code) == ["True\nTrue"] * 2


METRICS = """
import torchmetrics as tm
from torchmetrics import classification as kinds
def metrics():
    return {
        "confusion": kinds.MulticlassConfusionMatrix(3),
        "accuracy": kinds.MulticlassAccuracy(3, average="micro"),
        "auroc": kinds.MulticlassAUROC(3),
        "many": tm.MetricCollection([kinds.MulticlassF1Score(3), kinds.MulticlassRecall(3)]),
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


SCRIPT = """
import os, sys, torch
import dtrain_lab as dt
x = torch.arange(60.0).view(30, 2)
path = dt.predict(lambda v: v, x, batch_size=4, output=sys.argv[1])
found = dt.predict(lambda v: v, x, batch_size=4)
same, where = torch.equal(found, x), path == __import__("pathlib").Path(sys.argv[1])
# in one write: both ranks have the same pipe
os.write(1, f"RANK {os.environ['RANK']} {same} {where}\\n".encode())
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
