"""Parameters that get no gradient: a sentence with their names, from DDP, `dt.optimize` and probed steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

import dtrain_lab as dt
from dtrain_lab.api.result import RanksFailed
from dtrain_lab.errors import UnusedParameters
from dtrain_lab.training.gradients import unused
from tests.gloo import on_ranks

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

BEGIN = """
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
import dtrain_lab as dt

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.aux, self.head = nn.Linear(8, 16), nn.Linear(16, 4), nn.Linear(16, 4)
    def forward(self, x, aux=True):
        h = self.body(x).relu()
        return self.head(h) + self.aux(h) if aux else self.head(h)

class Silent(torch.autograd.Function):  # its second argument's gradient stays undefined
    @staticmethod
    def forward(ctx, x, other):
        return x.clone()
    @staticmethod
    def backward(ctx, gradient):
        return gradient, None

class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.w = nn.Linear(8, 4), nn.Parameter(torch.ones(3))
    def forward(self, x, aux):
        return Silent.apply(self.a(x), self.w)

def train(model, optimizer=None, steps=4, aux=lambda step: True):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(10 + rank)
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.randn(5, 8), aux(step)).pow(2).mean().backward()
        optimizer.step()
    print(sum(float(p.double().sum()) for p in model.parameters()))

def optimized(*args, **switches):
    model = args[0] if args else Net()
    return dt.optimize(model, torch.optim.SGD(model.parameters(), lr=0.1), **switches)
"""
PLAIN = (
    "aux.weight, aux.bias got no gradient in the last step: the loss leaves them out. Write "
    "DistributedDataParallel(model, find_unused_parameters=True), or"
)
OURS = PLAIN.replace("Write ", "Write dt.optimize(").replace("True), or", "True), optimizer, …), or")
STATIC = "static_graph=True needs the same parameters in each step. Write DistributedDataParallel("
CASES = {
    "never": ("train(DDP(Net()), aux=lambda s: False)", PLAIN),
    "once": ("train(DDP(Net()), aux=lambda s: s != 1)", PLAIN),
    # the ninth step is probed: DDP itself does not average in it, and can't notice
    "in a probed step": ("train(DDP(Net()), steps=12, aux=lambda s: s != 8)", PLAIN),
    "frozen too late": (
        "m = DDP(Net())\nm.module.body.requires_grad_(False)\ntrain(m)",
        "body.weight, body.bias got no gradient",
    ),
    "accumulation": (
        'train(*optimized(gradient_accumulation_steps=2, gradient_compression="bf16"), '
        "steps=8, aux=lambda s: s < 4)",
        OURS,
    ),
    "buckets": ("train(*optimized(bucket_cap_mb=3), aux=lambda s: False)", OURS),
    "compiled as a whole": (
        'train(torch.compile(DDP(Net()), backend="eager"), aux=lambda s: False)',
        PLAIN,
    ),
    "static": (
        "train(DDP(Net(), static_graph=True), aux=lambda s: s != 2)",
        "aux.weight, aux.bias got no gradient in the last step, and did before: " + STATIC,
    ),
    "static, from the second step": (
        "train(DDP(Net(), static_graph=True), aux=lambda s: s > 0)",
        "A parameter got a gradient for the first time after the first step: " + STATIC,
    ),
}
ONE_RANK = {
    "plain": "train(DDP(Net()), aux=lambda s: s != 1 or rank == 0)",
    "probed": "train(DDP(Net()), steps=12, aux=lambda s: s != 8 or rank == 0)",
    "optimize": (
        'train(*optimized(gradient_accumulation_steps=2, gradient_compression="powersgd"), '
        "steps=8, aux=lambda s: s < 4 or rank == 0)"
    ),
}
FINE = {
    "as advised": "train(DDP(Net(), find_unused_parameters=True), steps=12, aux=lambda s: s % 2)",
    "as advised for dt.optimize": (
        "train(*optimized(DDP(Net(), find_unused_parameters=True), gradient_accumulation_steps=2), "
        "steps=8, aux=lambda s: s % 3 == 0)"
    ),
    "a static graph without them": "train(DDP(Net(), static_graph=True), aux=lambda s: False)",
    "an undefined gradient, which is no unused parameter": "train(DDP(Odd()), steps=16)",
    "an undefined gradient of a parameter that no optimizer has": (
        "model = DDP(Odd())\ntrain(model, torch.optim.SGD(model.module.a.parameters(), lr=0.1), steps=16)"
    ),
}


@pytest.fixture(scope="module")
def ranks() -> Iterator[dt.Cluster]:
    with dt.start(ranks=2) as cluster:
        cluster.run(BEGIN)
        yield cluster


@pytest.mark.parametrize("case", CASES)
def test_a_sentence_names_them(ranks: dt.Cluster, case: str) -> None:
    code, sentence = CASES[case]
    failed = ranks.run(code, check=False)
    assert {f.rank for f in failed.failures} == {0, 1}
    for failure in failed.failures:
        assert failure.type == "UnusedParameters"
        assert sentence in failure.message
        assert failure.frames[-1].function == "train"  # the user's own line, not where it is raised


@pytest.mark.parametrize("case", ONE_RANK)
def test_the_rank_that_has_them_is_named(ranks: dt.Cluster, case: str) -> None:
    with pytest.raises(RanksFailed, match=r"Rank 1 failed: UnusedParameters: aux.weight, aux.bias"):
        ranks.run(ONE_RANK[case])
    assert ranks.run("x = torch.ones(1)\ndist.all_reduce(x)\nprint(x.item())").stdout[0] == "2.0\n"


@pytest.mark.parametrize("case", FINE)
def test_models_without_fault_train_the_same_parameters(ranks: dt.Cluster, case: str) -> None:
    found = ranks.run(FINE[case]).stdout
    assert found[0] == found[1] != ""


class Optional(nn.Module):
    """Uses its second layer on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.always, self.sometimes = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, both: bool) -> torch.Tensor:
        y = self.always(x)
        return self.sometimes(y) if both else y  # type: ignore[no-any-return]


def without_ranks_of_ours() -> list[str]:
    told = []
    for given in (Optional(), DDP(Optional())):
        model, optimizer = dt.optimize(given, torch.optim.SGD(given.parameters(), lr=0.1))
        try:
            for _ in range(2):
                model(torch.randn(2, 4), False).sum().backward()
                optimizer.step()
        except RuntimeError as error:  # as torch's own
            told.append(f"{type(error).__name__}: {error}")
    return told


def test_dt_optimize_names_them_under_any_launcher() -> None:
    for (ours, plain), _ in on_ranks(without_ranks_of_ours):
        start = "UnusedParameters: sometimes.weight, sometimes.bias got no gradient"
        assert ours.startswith(start)
        assert plain.startswith(start)
        assert "dt.optimize(" in ours
        assert "dt.optimize(" not in plain


def test_many_are_counted() -> None:
    model: Any = nn.Module()
    text = str(unused.unfinished(model, ["a", "b", "c", "d", "e"]))
    assert text.startswith("a, b, c and 2 more got no gradient")
    assert "the loss leaves it out" in str(unused.unfinished(model, ["a"]))
    assert "the loss leaves them out" in str(unused.unfinished(model, []))
    assert isinstance(unused.unfinished(model, []), UnusedParameters)
