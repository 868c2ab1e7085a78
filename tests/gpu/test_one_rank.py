"""One rank with a GPU: graphs, memory, errors of the device."""

from __future__ import annotations

import dtrain_lab as dt
from tests.gpu.cells import PREDICT, SETUP, said


def test_a_graph_is_captured_while_the_monitor_runs(alone: dt.Cluster) -> None:
    code = (
        SETUP
        + """
model = make()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = next(batches(1))
def step():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(3): step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    loss = step()
first = loss.item() if not graph.replay() else None
for _ in range(50): graph.replay()
print(loss.item() < first)
"""
    )
    assert said(alone, code) == ["True"]


def test_the_largest_batch_is_found_by_running_out_of_memory(alone: dt.Cluster) -> None:
    code = (
        SETUP
        + """
model = make(1024, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.cuda.set_per_process_memory_fraction(2**30 / torch.cuda.get_device_properties(0).total_memory)
def step(size):
    optimizer.zero_grad()
    x = torch.randn(size, 1024, device=device)
    nn.functional.cross_entropy(model(x), torch.zeros(size, dtype=torch.long, device=device)).backward()
    optimizer.step()
before = total(model)
found = dt.largest_batch(step, start=64)
assert total(model) == before
step(found)
try:
    step(found * 2); print("fits twice")
except torch.OutOfMemoryError:
    print("no larger one fits")
torch.cuda.set_per_process_memory_fraction(1.0)
"""
    )
    found = said(alone, code, 120)
    assert found == ["no larger one fits"]


def test_a_rank_out_of_memory_says_so_and_goes_on(alone: dt.Cluster) -> None:
    result = alone.run("import torch\ntorch.empty(1 << 50, dtype=torch.uint8, device='cuda')", check=False)
    assert "memory" in result.sentence
    assert alone.run("print(torch.ones(1, device='cuda').item())").stdout == {0: "1.0\n"}


def test_a_gpu_that_has_failed_is_told(alone: dt.Cluster) -> None:
    """After a failed assertion on a GPU each later call of CUDA fails in that process."""
    code = "import torch\nx = torch.arange(3, device='cuda')\nx[torch.tensor([7], device='cuda')].cpu()"
    works = "import torch\nprint(torch.ones(1, device='cuda').item())"
    for each in (code, works):
        result = alone.run(each, check=False, timeout=60)
        assert "CUDA fails on rank 0 until you replace it: %distributed restart 0." in result.sentence
    assert alone.run("print(1)").stdout == {0: "1\n"}
    alone.restart([0])
    assert alone.run(works, timeout=60).stdout == {0: "1.0\n"}


def test_a_model_predicts_in_order(alone: dt.Cluster) -> None:
    alone.run(SETUP, timeout=60)
    found = said(alone, PREDICT, 90)
    assert all("1001 True" in text for text in found)
