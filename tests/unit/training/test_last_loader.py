"""Which loader the last training loop has read, in one process."""

from __future__ import annotations

import weakref

import torch

from dtrain_lab.metrics import ring
from dtrain_lab.rank.monitor.last_training import LastTraining


class _Loader:
    """Stands for a DataLoader."""


class _Training:
    """Training steps of one model, as the monitor's hooks tell them."""

    def __init__(self) -> None:
        self.cells = {ring.STEPS: 0, ring.CELL_STEPS: 0}
        self.seen = LastTraining(self.cells)
        self.model = torch.nn.DataParallel(torch.nn.Linear(2, 1))  # has its module as DDP has
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def forward(self) -> None:
        x = torch.ones(4, 2)
        if not self.seen.again(self.model, x.shape):
            self.seen.forward(self.model, x, (x,), {})
            self.seen.passed(self.model, True)

    def step(self, *loaders: _Loader, passes: int = 1) -> None:
        for loader in loaders:
            self.seen.read(weakref.ref(loader))
        for _ in range(passes):
            self.forward()
        self.cells[ring.STEPS] += 1
        self.seen.stepped(self.optimizer)


def test_a_loop_that_reads_none_has_none_whatever_was_read_before_or_after_it() -> None:
    training, loader, looked_at = _Training(), _Loader(), _Loader()
    seen = training.seen
    seen.begin_cell()
    for _ in range(3):
        training.step(loader)
    assert seen.reads
    assert seen.loader is loader
    seen.read(weakref.ref(loader))  # then it is interrupted
    seen.begin_cell()
    for _ in range(2):
        training.step()
    assert not seen.reads
    seen.begin_cell()
    for _ in range(2):
        seen.read(weakref.ref(looked_at))
        assert not seen.reads
        seen.begin_cell()
    assert seen.loader is None


def test_batches_that_are_looked_at_later_do_not_replace_the_loader_of_the_loop() -> None:
    training, loader, looked_at = _Training(), _Loader(), _Loader()
    seen = training.seen
    for _ in range(3):
        training.step(loader)
    seen.read(weakref.ref(looked_at))
    for _ in range(3):
        seen.begin_cell()
        seen.read(weakref.ref(looked_at))
    assert seen.loader is loader


def test_a_second_loop_of_a_cell_that_reads_none_has_none_and_several_steps_a_batch_have_one() -> None:
    training, loader = _Training(), _Loader()
    for _ in range(3):
        training.step(loader, passes=40)
        training.step()
        training.step()
        assert training.seen.reads
    for _ in range(20):
        training.step()
    assert not training.seen.reads


def test_a_loop_without_an_optimizer_has_a_loader_and_one_that_is_gone_was_read() -> None:
    training, loader = _Training(), _Loader()
    for _ in range(3):
        training.seen.read(weakref.ref(loader))
        training.forward()
    training.seen.begin_cell()
    assert training.seen.loader is loader
    del loader
    assert training.seen.reads
    assert training.seen.loader is None


def test_a_loop_without_a_ddp_model_is_not_taken_for_one_that_trained_before_it() -> None:
    """As found: a diagnosis of a loop that averages by hand repeated the model of another cell."""
    training = _Training()
    seen, cells = training.seen, training.cells
    seen.begin_cell()
    for _ in range(3):
        training.step()
    assert not seen.trains_no_model
    seen.begin_cell()  # a cell that makes no step, or has not ended its first one
    assert not seen.trains_no_model
    cells[ring.CELL_STEPS] = cells[ring.STEPS]
    cells[ring.STEPS] += 1
    assert seen.trains_no_model
    training.step()
    assert not seen.trains_no_model
    cells[ring.STEPS] += 20
    assert seen.trains_no_model, "in the same cell, too"
