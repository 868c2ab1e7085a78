"""Ranks that train without exchanging gradients are told so, and nobody else is."""

from __future__ import annotations

import torch
import torch.distributed as dist

from dtrain_lab.rank.monitor.checks.missing_sync import FEW, MissingSync


class Rank:
    """One rank's model, optimizer and watch; all in this process, with torch's own store between them."""

    def __init__(self, store: dist.Store, ranks: int, seed: int, width: int = 8) -> None:
        torch.manual_seed(seed)
        self.said: list[str] = []
        self.watch = MissingSync(self.said.append)
        self.model = torch.nn.Sequential(torch.nn.Linear(width, 100))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.watch.begin_cell("cell", ranks, store)

    def train(self, steps: int, sent: tuple[int, ...] = (0,)) -> None:
        """Steps; what is sent before each, in turn."""
        for step in range(steps):
            self.watch.elements_sent += sent[step % len(sent)]
            self.watch.stepped(self.optimizer)
            self.optimizer.step()
            self.watch.step_ended()


def trained(*sent: tuple[int, ...], steps: int = FEW, ranks: int = 2, width: int = 8) -> list[str]:
    store = dist.HashStore()
    all_ranks = [Rank(store, ranks, seed, width if seed else 8) for seed in range(len(sent))]
    for rank, numbers in zip(all_ranks, sent, strict=True):
        rank.train(steps, numbers)
        del rank.optimizer  # as that of a function that has returned
        rank.watch.end_cell()
    return [text for rank in all_ranks for text in rank.said]


def test_parameters_that_drift_apart_are_named_once() -> None:
    (text,) = trained((0,), (0,))
    assert "2 ranks train without exchanging gradients" in text
    assert f"after {FEW} steps their parameters differ (0.weight, 0.bias)" in text
    assert "DistributedDataParallel" in text


def test_data_parallel_is_named_as_what_ddp_replaces() -> None:
    store = dist.HashStore()
    ranks = [Rank(store, 2, 0), Rank(store, 2, 1)]
    wraps = [torch.nn.DataParallel(rank.model) for rank in ranks]
    for rank in ranks:
        rank.train(FEW)
        rank.watch.end_cell()
    assert "Replace nn.DataParallel by DistributedDataParallel: model = " in ranks[1].said[0]
    assert "Replace" not in trained((0,), (0,))[0], wraps


def test_a_loss_that_is_averaged_is_no_exchange_of_gradients() -> None:
    assert len(trained((1,), (1,))) == 1


def test_equal_models_on_equal_data_are_told_as_such() -> None:
    store = dist.HashStore()
    ranks = [Rank(store, 2, 0), Rank(store, 2, 0)]
    for rank in ranks:
        rank.train(FEW)
        rank.watch.end_cell()
    assert "still equal" in ranks[1].said[0]


def test_who_exchanges_or_trains_alone_hears_nothing() -> None:
    assert trained((900,), (900,)) == []
    assert trained((0, 0, 0, 0, 900), (0, 0, 0, 0, 900)) == [], "local SGD, averaged each five steps"
    assert trained((0,), steps=50) == [], "the other rank does not train"
    assert trained((0,), ranks=1) == [], "a cell of one rank"
    assert trained((0,), (0,), steps=FEW - 1) == [], "a few steps to try it out"
    assert trained((0,), (0,), width=4) == [], "models of different shapes, which is meant"


def test_steps_without_an_optimizer_of_torch_are_left_alone() -> None:
    """Those that `dt.step` marks in a loop of NumPy, or of an optimizer of one's own: none is compared."""
    rank = Rank(dist.HashStore(), 2, 0)
    for _ in range(2 * FEW):
        rank.watch.step_ended()
    rank.watch.end_cell()
    assert rank.said == []
