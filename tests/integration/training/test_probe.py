"""The probe changes no result: parameters and buffers are bitwise the same with it and without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dtrain_lab as dt

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

SETUP = """
import contextlib, hashlib, torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
import dtrain_lab.rank.monitor.probe as probe
probe.FIRST = (3, 6, 9, 12, 15)
done = []
if not hasattr(probe, "plain"):
    probe.plain = probe.average
def counted(*args):
    done.append(1)
    probe.plain(*args)
probe.average = counted

def net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 33), nn.ReLU(),
        nn.Linear(33, 10))

def run(on, accumulate=1, **options):
    probe.EVERY = 1000
    probe.FIRST = (3, 6, 9, 12, 15) if on else ()
    model = DDP(net(), **options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(10 + rank)
    for i in range(18):
        for k in range(accumulate):
            x, y = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))
            with model.no_sync() if k < accumulate - 1 else contextlib.nullcontext():
                nn.functional.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step(); optimizer.zero_grad()
    tensors = [*model.parameters(), *model.buffers()]
    return hashlib.sha256(b"".join(t.detach().numpy().tobytes() for t in tensors)).hexdigest()

class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 5), nn.Linear(8, 3)
    def forward(self, x):
        return self.one(x), self.two(x)

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.EmbeddingBag(50, 8, sparse=True), nn.Linear(8, 3)
    def forward(self, x):
        return self.out(self.table(x))

def below(loss):  # as code does that goes round torch.autograd.backward
    torch.autograd.graph._engine_run_backward(
        (loss,), (torch.ones_like(loss),), False, False, (), allow_unreachable=True, accumulate_grad=True)

def special(on, kind):
    probe.EVERY = 1000
    probe.FIRST = (3, 6, 9, 12, 15) if on else ()
    torch.manual_seed(0)
    made = {"branches": Branches, "words": Words}.get(kind, lambda: nn.Linear(8, 5))()
    model = DDP(made, bucket_cap_mb=1e-4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(10 + rank)
    for i in range(18):
        x = torch.randint(0, 50, (4, 6)) if kind == "words" else torch.randn(4, 8)
        out = model(x)
        optimizer.zero_grad(set_to_none=kind != "zeroed")
        if kind == "branches":
            out[0].square().mean().backward()
            out[1].square().mean().backward()
        elif kind == "below" and i % 4 == 3:
            below(out.square().mean())
        else:
            out.square().mean().backward()
        optimizer.step()
    return hashlib.sha256(b"".join(t.detach().numpy().tobytes() for t in model.parameters())).hexdigest()
"""


@pytest.fixture(scope="module", params=[2, 3])
def world(request: pytest.FixtureRequest) -> Iterator[dt.Cluster]:
    with dt.start(ranks=request.param) as cluster:
        cluster.run(SETUP)
        yield cluster


@pytest.mark.parametrize(
    "options",
    ["bucket_cap_mb=0.02", "bucket_cap_mb=0.02, gradient_as_bucket_view=True", "accumulate=3", ""],
    ids=["buckets", "views", "accumulation", "usual"],
)
def test_results_are_bitwise_the_same(world: dt.Cluster, options: str) -> None:
    # the counts begin anew with each cell
    first = world.run(f"print(run(False, {options}))").stdout
    result = world.run(f"done.clear()\nprint(run(True, {options}))\nprint(len(done))").stdout
    for rank, text in first.items():
        digest, probes = result[rank].split()
        assert digest == text.strip()
        assert int(probes) == 5


@pytest.mark.parametrize(
    ("kind", "probes"), [("zeroed", 5), ("branches", 5), ("below", 8), ("words", 0)], ids=lambda v: str(v)
)
def test_unusual_loops_are_bitwise_the_same(world: dt.Cluster, kind: str, probes: int) -> None:
    """Gradients that are zero, not none; two backwards a step; some that nobody sees begin; sparse ones."""
    first = world.run(f"print(special(False, {kind!r}))").stdout
    result = world.run(f"done.clear()\nprint(special(True, {kind!r}))\nprint(len(done))").stdout
    for rank, text in first.items():
        digest, count = result[rank].split()
        assert digest == text.strip()
        assert int(count) == probes


def test_models_that_can_not_be_probed_are_left_alone(world: dt.Cluster) -> None:
    code = "done.clear()\nprint(run(True, find_unused_parameters=True))\nprint(len(done))"
    assert {text.split()[1] for text in world.run(code).stdout.values()} == {"0"}


def test_training_goes_on_after_an_interrupt_in_the_middle(world: dt.Cluster) -> None:
    world.run("probe.FIRST = tuple(range(1, 400))\nmodel = DDP(net())")
    world.run("opt = torch.optim.SGD(model.parameters(), 0.01)")
    code = (
        "while True:\n"
        "    model(torch.randn(4, 3, 16, 16)).square().mean().backward()\n"
        "    opt.step(); opt.zero_grad()"
    )
    for _ in range(3):
        world.run(code, timeout=1.0, check=False)
    # ranks that were interrupted on either side of a step hold different parameters; what is averaged agrees
    averaged = world.run(
        "for _ in range(20):\n"
        "    opt.zero_grad()\n"
        "    model(torch.randn(4, 3, 16, 16)).square().mean().backward()\n"
        "    opt.step()\n"
        "print(sum(p.grad.double().sum().item() for p in model.parameters()))"
    ).stdout
    assert len(set(averaged.values())) == 1
