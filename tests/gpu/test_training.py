"""Training on GPUs: dt.optimize and its hooks, largest batch, diagnose, predict, mixed precision, graphs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import dtrain_lab as dt
from tests.gpu.cells import PREDICT, SETUP, replace, said
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def ready(pair: dt.Cluster) -> dt.Cluster:
    pair.run(SETUP, timeout=60)
    return pair


@pytest.mark.parametrize(("kind", "most"), [("fp16", 0.01), ("bf16", 0.01), ("powersgd", 0.9)])
def test_gradients_are_compressed_alike_on_all_ranks(ready: dt.Cluster, kind: str, most: float) -> None:
    code = f"""
model = make()
plain = torch.optim.SGD(model.parameters(), lr=0.01)
model, optimizer = dt.optimize(model, plain, gradient_compression={kind!r})
train(model, optimizer, 30)
print(model.gradient_compression.error, total(model))
"""
    first, second = said(ready, code)
    assert first.split()[-2:] == second.split()[-2:]
    assert 0 < float(first.split()[-2]) < most


def test_accumulation_equals_the_large_batch(ready: dt.Cluster) -> None:
    code = """
x, y = next(batches(1, 64))
def step(accumulated):
    model = make()
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = dt.optimize(model, plain, gradient_accumulation_steps=accumulated)
    for part_x, part_y in zip(x.chunk(accumulated), y.chunk(accumulated)):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(part_x), part_y).backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]
a, b = step(1), step(4)
print(max((p - q).abs().max().item() for p, q in zip(a, b)) < 1e-5)
"""
    assert said(ready, code)[0].splitlines()[-1] == "True"


def test_buckets_are_tuned(ready: dt.Cluster) -> None:
    code = """
model = make(1024, 6)
model, optimizer = dt.optimize(model, torch.optim.SGD(model.parameters(), lr=0.01), bucket_cap_mb="tune")
train(model, optimizer, 260, width=1024)
print(total(model))
"""
    found = said(ready, code, 120)
    assert found[0].splitlines()[-1] == found[1].splitlines()[-1]


def test_mixed_precision_with_a_scaler_and_a_compiled_model(ready: dt.Cluster) -> None:
    code = """
def run(compiled):
    model = make()
    model = DDP(torch.compile(model) if compiled else model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in batches(12):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return total(model), round(loss.item(), 3)
print(run(False), run(True))
"""
    found = said(ready, code, 120)
    assert found[0].split(",")[0] == found[1].split(",")[0]


def test_the_monitor_adds_no_synchronization_and_knows_gpus(ready: dt.Cluster) -> None:
    """In a loop that never waits for the GPU itself."""
    code = """
model = DDP(make(1024, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = next(batches(1, 256, 1024))
def loop(count):
    for _ in range(count):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
loop(20)
torch.cuda.synchronize()
torch.cuda.set_sync_debug_mode("error")
try:
    loop(200)
finally:
    torch.cuda.set_sync_debug_mode("default")
torch.cuda.synchronize()
"""
    ready.run(code, timeout=90)
    info = wait_until(lambda: _trained(ready), 20, "figures of the training")
    assert info["metrics"]["comm_overhead"] > 0
    for rank in info["ranks"]:
        assert rank["device_memory_bytes"] > 50 << 20
        assert rank["samples_per_s"] > 0


def _trained(cluster: dt.Cluster) -> Any:
    info = cluster.info()
    return info if re.search(r'"samples_per_s": [0-9]', json.dumps(info["metrics"], default=str)) else None


def test_a_loop_that_waits_each_step_is_measured_and_diagnosed(ready: dt.Cluster) -> None:
    ready.run("model = DDP(make(2048, 6))\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)")
    for _ in range(3):
        ready.run("train(model, optimizer, 60, width=2048, size=64)", timeout=90)
    before = said(ready, "print(total(model))")
    report = ready.diagnose()
    assert report.communication is not None
    assert said(ready, "print(total(model))") == before
    live = ready.info()["metrics"]["comm_overhead"]
    assert abs(live - report.communication.share) < 0.1
    assert {advice["id"] for advice in ready.advise()} >= {"accumulate"}


def test_values_go_to_gpus_and_back(pair: dt.Cluster) -> None:
    pair.run("import torch\nw = torch.full((1000, 100), float(rank), device='cuda').requires_grad_()")
    found = pair.pull("w")
    for rank, value in found.items():
        assert (value.device.type, value.shape, value.requires_grad) == ("cuda", (1000, 100), True)
        assert float(value.detach().mean()) == rank
    assert "rank 1 has other values" in str(pair.diff("w"))
    pair.push(again=found[1])
    assert (
        said(pair, "print(again.device, again.requires_grad, again.mean().item())") == ["cuda:0 True 1.0"] * 2
    )


def test_a_copied_namespace_has_its_tensors_on_the_gpu(ready: dt.Cluster) -> None:
    ready.run(
        "model = DDP(make())\noptimizer = torch.optim.Adam(model.parameters())\ntrain(model, optimizer)"
    )
    replace(ready)
    assert len(set(said(ready, "print(next(model.parameters()).device, len(optimizer.state))"))) == 1
    found = said(ready, "train(model, optimizer)\nprint(total(model))")
    assert found[0].splitlines()[-1] == found[1].splitlines()[-1]


def test_a_model_predicts_in_order(pair: dt.Cluster) -> None:
    pair.run(SETUP, timeout=60)
    found = said(pair, PREDICT, 90)
    assert all("1001 True" in text for text in found)
