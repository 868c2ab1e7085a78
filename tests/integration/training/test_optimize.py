"""`dt.optimize` on two gloo ranks: accumulation equals the large batch, hooks and buckets keep results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

import dtrain_lab as dt
from dtrain_lab.errors import BadRequest
from dtrain_lab.training.gradients import buckets
from tests.gloo import on_ranks

pytestmark = pytest.mark.processes

EVERY = 4
OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
}


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def data(batches: int, batch: int = 4) -> TensorDataset:
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
    torch.manual_seed(1 + rank)
    return TensorDataset(torch.randn(batches * batch, 6), torch.randn(batches * batch, 3))


def train(model: Any, optimizer: Any, loader: Any, *, clip: float = 0, set_to_none: bool = True) -> None:
    """An ordinary loop."""
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad(set_to_none=set_to_none)
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
        scheduler.step()


def values(model: nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def far(a: list[torch.Tensor], b: list[torch.Tensor]) -> float:
    return max(float((x - y).abs().max()) for x, y in zip(a, b, strict=True))


def against_large(kind: str, batches: int, options: dict[str, Any]) -> float:
    """Largest difference of parameters between accumulation and the large batch."""
    torch.set_num_threads(1)
    several = torch.distributed.is_initialized()
    large: Any = DDP(net()) if several else net()
    found = data(batches)
    train(large, OPTIMIZERS[kind](large.parameters()), DataLoader(found, 4 * EVERY), **options)
    model: Any = net()
    model, optimizer = dt.optimize(
        model, OPTIMIZERS[kind](model.parameters()), gradient_accumulation_steps=EVERY
    )
    assert isinstance(model, DDP) == several
    train(model, optimizer, DataLoader(found, 4), **options)
    assert far(values(model), values(net())) > 1e-3
    return far(values(model), values(large))


def all_against_large() -> dict[str, float]:
    return {
        "sgd": against_large("sgd", 12, {}),
        "momentum": against_large("momentum", 12, {"set_to_none": False}),
        "adam": against_large("adam", 12, {}),
        "clipped": against_large("sgd", 12, {"clip": 0.05}),
        "last group of 2": against_large("momentum", 10, {}),
        "last group of 1": against_large("sgd", 9, {"clip": 0.05}),
    }


@pytest.mark.parametrize("size", [1, 2])
def test_accumulation_equals_the_large_batch(size: int) -> None:
    for found, _ in on_ranks(all_against_large, size=size):
        assert {name for name, difference in found.items() if difference > 1e-5} == set(), found


def trained_with(**switches: Any) -> tuple[list[torch.Tensor], Any]:
    """Parameters after 16 batches of a wide model, and the model."""
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(6, 400), nn.Tanh(), nn.Linear(400, 900), nn.Linear(900, 3))
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer = dt.optimize(model, optimizer, **switches)
    for x, y in DataLoader(data(80), 4):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return values(model), model


def all_switches() -> dict[str, Any]:
    plain, _ = trained_with()
    found: dict[str, Any] = {}
    for kind in ("fp16", "bf16", "powersgd"):
        result, model = trained_with(gradient_compression=kind)
        found[kind] = far(result, plain), model.gradient_compression.error
    found["5 MB"] = far(trained_with(bucket_cap_mb=0.5)[0], plain)
    result, model = trained_with(bucket_cap_mb="tune")
    tuning = model.bucket_tuning
    found["tune"] = far(result, plain), tuning.done, tuning.best, tuning.curve
    both, model = trained_with(bucket_cap_mb="tune", gradient_compression="bf16")
    found["both"] = far(both, trained_with(gradient_compression="bf16")[0]), len(model.bucket_tuning.curve)
    linear = nn.Linear(4, 1)
    large, optimizer = dt.optimize(
        linear, torch.optim.SGD(linear.parameters(), lr=1e-9), gradient_compression="fp16"
    )
    for _ in range(4):
        optimizer.zero_grad()
        (large(torch.ones(1, 4)) * 1e6).sum().backward()
    return found


def rebuilt_buckets() -> dict[str, Any]:
    """MB in each bucket, asked for and made from another model, without any warning of torch."""
    net = nn.Sequential(*[nn.Linear(512, 512, bias=False) for _ in range(6)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = DDP(net, gradient_as_bucket_view=True, find_unused_parameters=True)
        again = buckets.rebuild(made, 2.0)
        wrapped, _ = dt.optimize(net, torch.optim.SGD(net.parameters(), lr=0.1), bucket_cap_mb=3)
        for _ in range(3):  # without unused parameters, buckets are made in the first backward
            wrapped(torch.ones(1, 512)).sum().backward()
    sizes = {
        name: [
            sum(p.numel() for p in b.parameters()) / 2**18 for b in of.reducer._get_zeros_like_grad_buckets()
        ]
        for name, of in (("default", made), ("2 MB", again), ("3 MB", wrapped))
    }
    same = ("find_unused_parameters", "gradient_as_bucket_view", "static_graph")
    return {**sizes, "kept": all(getattr(made, name) == getattr(again, name) for name in same)}


def test_a_bucket_size_is_obeyed_and_torch_warns_of_nothing() -> None:
    (found, _), _ = on_ranks(rebuilt_buckets)
    assert found == {
        "default": [5.0, 1.0],
        "2 MB": [2.0, 2.0, 2.0],
        "3 MB": [3.0, 3.0],
        "kept": True,
    }


def test_switches_keep_results_and_say_their_error() -> None:
    (found, said), (other, silent) = on_ranks(all_switches)
    assert found["fp16"][0] < 1e-3
    assert 0 < found["fp16"][1] < 0.01
    assert 0 < found["bf16"][1] < 0.02
    assert found["bf16"][0] < 1e-2
    assert 0 < found["powersgd"][1] < 1
    assert found["5 MB"] < 1e-6
    assert found["tune"][0] < 1e-6, "results are the same while buckets change"
    assert found["tune"][1]
    assert found["tune"][2] == other["tune"][2], "one size on all ranks"
    assert len(found["tune"][3]) >= 2
    assert found["both"][0] < 1e-3
    overflow = "Gradients exceed the largest value of fp16 (65,504). bf16 can represent them."
    for text in ("bf16 compression: relative error", "PowerSGD of rank 4", "bucket size", overflow):
        assert text in said
        assert text not in silent


class Sometimes(nn.Module):
    """Uses each of its two layers in some batches only."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(6, 3), nn.Linear(6, 3)
        self.turn = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.turn += 1
        return self.first(x) if self.turn % 2 else self.second(x)  # type: ignore[no-any-return]


def unused() -> float:
    """Gradients of parameters that the last batch of a group does not use are there, too."""
    found = data(8)
    model: Any = DDP(Sometimes(), find_unused_parameters=True)
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = dt.optimize(model, optimizer, gradient_accumulation_steps=EVERY)
    for x, y in DataLoader(found, 4):
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        model.zero_grad()
    by_hand = Sometimes()
    step = torch.optim.SGD(by_hand.parameters(), lr=0.1)
    for batch, (x, y) in enumerate(DataLoader(found, 4)):
        (nn.functional.mse_loss(by_hand(x), y) / EVERY).backward()
        if batch % EVERY == EVERY - 1:
            for parameter in by_hand.parameters():
                torch.distributed.all_reduce(parameter.grad)
                parameter.grad /= 2  # type: ignore[operator]
            step.step()
            step.zero_grad()
    return far(values(model), values(by_hand))


def without_a_length() -> float:
    """A stream's last group ends with the stream; other data's with `flush`."""

    class Stream(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[Any]:
            yield from pairs

    pairs = list(data(6))
    streamed: Any = net()
    streamed, optimizer = dt.optimize(
        streamed, torch.optim.SGD(streamed.parameters(), lr=0.1), gradient_accumulation_steps=EVERY
    )
    for _ in range(2):
        for x, y in DataLoader(Stream(), 4):
            optimizer.zero_grad()
            nn.functional.mse_loss(streamed(x), y).backward()
            optimizer.step()
    listed: Any = net()
    listed, optimizer = dt.optimize(
        listed, torch.optim.SGD(listed.parameters(), lr=0.1), gradient_accumulation_steps=EVERY
    )
    for _ in range(2):
        for x, y in list(DataLoader(TensorDataset(*map(torch.stack, zip(*pairs, strict=True))), 4)):
            optimizer.zero_grad()
            nn.functional.mse_loss(listed(x), y).backward()
            optimizer.step()
        optimizer.flush()
    large: Any = DDP(net())
    optimizer = torch.optim.SGD(large.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in DataLoader(Stream(), 4 * EVERY):
            optimizer.zero_grad()
            nn.functional.mse_loss(large(x), y).backward()
            optimizer.step()
    return max(far(values(streamed), values(large)), far(values(listed), values(large)))


def two_models() -> float:
    """As a GAN: one model's loss leaves gradients in the other, which its own zero_grad drops."""
    results = []
    for every in (1, EVERY):
        made, judge = DDP(net()), DDP(nn.Linear(3, 1, bias=False))
        with torch.no_grad():
            judge.module.weight.fill_(0.5)
        a: Any = torch.optim.SGD(made.parameters(), lr=0.1)
        b: Any = torch.optim.SGD(judge.parameters(), lr=0.1)
        if every > 1:
            made, a = dt.optimize(made, a, gradient_accumulation_steps=every)
            judge, b = dt.optimize(judge, b, gradient_accumulation_steps=every)
        for x, y in DataLoader(data(EVERY), 4 * EVERY // every):
            b.zero_grad()
            (judge(y).square().mean() - judge(made(x).detach()).mean()).backward()
            b.step()
            a.zero_grad()
            judge(made(x)).mean().backward()
            a.step()
        results.append(values(judge))
    return far(*results)


def corners() -> dict[str, float]:
    return {"unused": unused(), "streams": without_a_length(), "two models": two_models()}


def test_accumulation_in_the_corners() -> None:
    for found, _ in on_ranks(corners):
        assert {name for name, difference in found.items() if difference > 1e-5} == set(), found


def refusals() -> dict[str, str]:
    def said(*args: Any, **kwargs: Any) -> str:
        try:
            dt.optimize(*args, **kwargs)
        except BadRequest as error:
            return str(error)
        return ""

    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    hooked = DDP(net())
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    hooked.register_comm_hook(None, allreduce_hook)
    its = torch.optim.SGD(hooked.parameters(), lr=0.1)
    lbfgs = torch.optim.LBFGS(model.parameters())
    half = net().half()
    compressed: Any = net()
    compressed, again = dt.optimize(
        compressed, torch.optim.SGD(compressed.parameters(), lr=0.1), gradient_compression="bf16"
    )
    assert dt.optimize(compressed, again, gradient_compression="bf16")[0] is compressed  # a cell run twice
    words = nn.Sequential(nn.Embedding(9, 4, sparse=True), nn.Linear(4, 2))
    complex_model = nn.Linear(3, 3, dtype=torch.complex64)
    return {
        "hook": said(hooked, its, gradient_compression="bf16"),
        "hook and buckets": said(hooked, its, bucket_cap_mb=5),
        "lbfgs": said(model, lbfgs, gradient_accumulation_steps=2),
        "other parameters": said(net(), optimizer, gradient_accumulation_steps=2),
        "other kind": said(compressed, again, gradient_compression="fp16"),
        "sparse": said(words, torch.optim.SGD(words.parameters(), lr=0.1), gradient_compression="powersgd"),
        "kind": said(model, optimizer, gradient_compression="int8"),
        "half": said(half, torch.optim.SGD(half.parameters(), lr=0.1), gradient_compression="fp16"),
        "complex": said(
            complex_model, torch.optim.SGD(complex_model.parameters()), gradient_compression="bf16"
        ),
        "steps": said(model, optimizer, gradient_accumulation_steps=0),
        "cap": said(model, optimizer, bucket_cap_mb="large"),
        "model": said(None, optimizer),
        "optimizer": said(model, None),
    }


REFUSED = {
    "hook": "communication hook already",
    "hook and buckets": "has a communication hook",
    "other kind": "compressed by bf16 already",
    "sparse": "gradients of 0 are sparse, which PowerSGD can't average",
    "lbfgs": "LBFGS computes the gradients several times",
    "other parameters": "has none of the model's parameters",
    "kind": "gradient_compression is 'int8'",
    "half": "float16 already",
    "complex": "only real floating-point",
    "steps": "gradient_accumulation_steps is 0",
    "cap": "bucket_cap_mb is 'large'",
    "model": "the model is of type NoneType",
    "optimizer": "the optimizer is of type NoneType",
}


def test_what_does_not_fit_is_refused_in_words() -> None:
    for found, _ in on_ranks(refusals):
        assert found.keys() == REFUSED.keys()
        for case, words in REFUSED.items():
            assert words in found[case], case


def alone() -> bool:
    model: Any = net()
    got, _ = dt.optimize(
        model, torch.optim.SGD(model.parameters(), lr=0.1), gradient_compression="bf16", bucket_cap_mb=5
    )
    return got is model


def test_one_rank_alone_is_told_that_switches_do_nothing() -> None:
    ((same, said),) = on_ranks(alone, size=1)
    assert same
    assert "one rank alone exchanges no gradients" in said
