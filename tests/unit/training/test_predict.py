"""`dt.predict` in one process: what goes in, and what comes out."""

from __future__ import annotations

import itertools
import multiprocessing.context
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from tqdm import tqdm

import dtrain_lab as dt
from dtrain_lab.errors import BadRequest, DtrainError
from dtrain_lab.training.inference import dataset, loop
from dtrain_lab.training.inference import model as models
from dtrain_lab.training.inference.batch_shares import Batches, plan
from dtrain_lab.training.inference.inputs import Splitter
from dtrain_lab.training.inference.loop import Loop
from dtrain_lab.training.inference.rank_exchange import Ranks, Sums
from dtrain_lab.training.inference.results.gather import MESSAGE_BYTES, messages
from dtrain_lab.training.inference.results.output_parts import built, parts, title

X = torch.arange(50.0).view(25, 2)
Y = torch.arange(25) % 3


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.layer(x))


class Counted(IterableDataset[Any]):
    """Samples one after the other; it may say another number than it gives."""

    def __init__(self, says: int, gives: int) -> None:
        self.says, self.gives = says, gives

    def __len__(self) -> int:
        return self.says

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(X[: self.gives])


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(X)


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net()


def by_hand(net: Net, size: int) -> torch.Tensor:
    net.eval()
    with torch.no_grad():
        found = torch.cat([net(x) for x in X.split(size)])
    net.train()
    return found


@pytest.mark.parametrize("size", [1, 4, 25, 100])
def test_results_are_those_of_an_ordinary_loop(net: Net, size: int) -> None:
    found = dt.predict(net, TensorDataset(X, Y), batch_size=size)
    assert torch.equal(found, by_hand(net, size))
    assert not found.requires_grad


def test_modes_gradients_and_random_numbers_are_as_before(net: Net) -> None:
    net.layer.eval()  # frozen by the user, in a model that trains
    before = torch.get_rng_state()
    dt.predict(net, X)
    assert (net.training, net.layer.training, net.drop.training) == (True, False, True)
    assert torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(RuntimeError, match="shape"):
        dt.predict(net, torch.ones(4, 9))
    assert (net.training, net.layer.training, torch.is_grad_enabled()) == (True, False, True)


def test_the_usual_batch_size(net: Net) -> None:
    assert torch.equal(dt.predict(net, X), by_hand(net, 1))


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("model", "batch", "args", "kwargs", "target"),
    [
        (lambda x: x, 1, (1,), {}, None),
        (lambda x: x, (1,), (1,), {}, None),
        (lambda x: x, (1, 2), (1,), {}, 2),
        (lambda x: x, [1, 2], (1,), {}, 2),
        (lambda x: x, Pair(1, 2), (1,), {}, 2),
        (lambda x, y: x, (1, 2), (1, 2), {}, None),
        (lambda x, y: x, (1, 2, 3), (1, 2), {}, 3),
        (lambda x, mask=None: x, (1, 2), (1,), {}, 2),
        (lambda ids, mask: ids, {"ids": 1, "mask": 2, "labels": 3}, (), {"ids": 1, "mask": 2}, 3),
        (lambda ids: ids, {"ids": 1, "other": 2}, (), {"ids": 1}, None),
        (lambda **every: every, {"ids": 1, "label": 3}, (), {"ids": 1}, 3),
        (lambda batch: batch, {"x": 1, "target": 2}, ({"x": 1, "target": 2},), {}, 2),
    ],
)
def test_what_of_a_batch_the_model_gets(model: Any, batch: Any, args: Any, kwargs: Any, target: Any) -> None:
    call = Splitter(model, False)(batch)
    assert (call.args, call.kwargs, call.target) == (args, kwargs, target)
    assert call.has_target == (target is not None)


def test_an_evaluation_takes_the_last_element_for_the_target() -> None:
    assert Splitter(lambda x, y: x, True)((1, 2)) == ((1,), {}, 2, True)


def test_wrappers_are_seen_through(net: Net) -> None:
    class Passes(nn.Module):
        def __init__(self, module: nn.Module) -> None:
            super().__init__()
            self.module = module

        def forward(self, *inputs: Any, **kwargs: Any) -> Any:
            return self.module(*inputs, **kwargs)

    for wrapped in (Passes(net), torch.compile(net, backend="eager"), Passes(Passes(net))):
        assert Splitter(wrapped, False)((1, 2)).args == (1,)
        assert Splitter(wrapped, False)({"x": 1, "y": 2}).kwargs == {"x": 1}


def test_dicts_tuples_and_other_objects_come_back_as_they_were() -> None:
    def model(x: torch.Tensor) -> Any:
        rows = {"logits": x, "deep": (x[:, 0], x.numpy() * 2)}
        return {**rows, "words": [f"{v:g}" for v in x[:, 0].tolist()], "each batch": "text"}

    found = dt.predict(model, X, batch_size=10)
    assert list(found) == ["logits", "deep", "words", "each batch"]
    assert torch.equal(found["logits"], X)
    assert torch.equal(found["deep"][0], X[:, 0])
    assert torch.equal(found["deep"][1], X * 2)
    assert found["words"] == [f"{v:g}" for v in X[:, 0].tolist()]
    assert found["each batch"] == ["text"] * 3


def test_rows_whose_shapes_differ_are_a_list() -> None:
    lengths = iter((3, 5, 4))
    found = dt.predict(lambda x: torch.ones(len(x), next(lengths)), X, batch_size=10)
    assert [len(row) for row in found] == [3] * 10 + [5] * 10 + [4] * 5


def test_results_share_no_memory_with_what_the_model_uses_again() -> None:
    buffer = torch.zeros(5, 2)
    found = dt.predict(lambda x: buffer.copy_(x), X, batch_size=5)
    assert torch.equal(found, X)


def test_parts_are_built_as_they_were_taken_apart() -> None:
    output = {"a": torch.ones(2, 1), "b": (torch.zeros(2), {"c": torch.ones(2)})}
    taken = parts(output, 2)
    assert [title(path) for path in taken] == ["a", "b.0", "b.1.c"]
    back = built({path: part.value for path, part in taken.items()})
    assert back["b"][1]["c"].tolist() == [1, 1]
    assert title(next(iter(parts(torch.ones(2), 2)))) == "prediction"


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_iterable_with_a_length_is_read_in_turn(net: Net, num_workers: int) -> None:
    assert torch.equal(
        dt.predict(net, Counted(25, 25), batch_size=4, num_workers=num_workers), by_hand(net, 4)
    )


@pytest.mark.parametrize("used", [False, True])
def test_samples_are_collated_by_the_user_and_loaded_by_workers(
    net: Net, monkeypatch: pytest.MonkeyPatch, used: bool
) -> None:
    """Also where Python starts processes without the functions that are here, as 3.14 does by default."""
    default = multiprocessing.context._default_context
    server = multiprocessing.get_context("forkserver")
    monkeypatch.setattr(default, "_default_context", server)
    monkeypatch.setattr(default, "_actual_context", server if used else None)
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["forkserver", "fork", "spawn"])
    found = dt.predict(net, list(range(25)), batch_size=4, collate_fn=lambda some: X[some], num_workers=2)
    assert torch.equal(found, by_hand(net, 4))


@pytest.mark.parametrize(("now", "given"), [(None, "fork"), ("forkserver", "fork"), ("spawn", None)])
def test_a_start_method_that_is_not_pythons_default_is_kept(
    monkeypatch: pytest.MonkeyPatch, now: str | None, given: str | None
) -> None:
    """The user's own "forkserver" can't be told from a default that was used: docs/inference.md says so."""
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["forkserver", "fork", "spawn"])
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda **_: now)
    assert dataset._workers(2) == {"num_workers": 2, "multiprocessing_context": given}


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        (lambda n: dt.predict(n, Endless()), "no_length", r"The dataset \(Endless\) has no length"),
        (lambda n: dt.predict(n, iter([1])), "no_length", "has no length"),
        (lambda n: dt.predict(n, []), "empty_dataset", r"The dataset \(list\) is empty"),
        (lambda n: dt.predict(n, DataLoader(X)), "not_a_dataset", "but got a DataLoader"),
        (lambda n: dt.predict(n, 7), "not_a_dataset", "but got int"),
        (lambda n: dt.predict("net", X), "not_a_model", "dt.predict needs a model, but got str"),
        (lambda n: dt.predict(n, X, batch_size=0), "bad_request", "batch_size is 0; it must be a whole"),
        (lambda n: dt.predict(n, X, batch_size=2.5), "bad_request", "batch_size is 2.5"),
        (lambda n: dt.predict(n, X, num_workers=-1), "bad_request", "num_workers is -1"),
        (lambda n: dt.predict(n, Counted(25, 20), batch_size=4), "wrong_length", "yields 20 samples"),
        (lambda n: dt.predict(n, Counted(20, 25), batch_size=4), "wrong_length", "yields more samples"),
        (
            lambda n: dt.predict(lambda x: x.sum(), X),
            "no_rows",
            "must have one row for each of the 1 samples of a batch; its shape is that of a single number",
        ),
        (
            lambda n: dt.predict(lambda x: {"loss": x.sum()}, X),
            "no_rows",
            "loss of the model's output",
        ),
        (lambda n: dt.predict(n, X, output="x.csv"), "unknown_format", "can't write x.csv"),
    ],
)
def test_bad_input_is_told_in_a_sentence(net: Net, call: Any, code: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words) as caught:
        call(net)
    assert caught.value.code == code


def test_an_output_that_is_a_folder_is_refused_before_any_work(net: Net, tmp_path: Path) -> None:
    folder = tmp_path / "all.parquet"
    folder.mkdir()

    def model(x: torch.Tensor) -> Any:
        raise AssertionError("nothing is computed")

    with pytest.raises(BadRequest, match="it is a folder"):
        dt.predict(model, X, output=folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_parts_that_come_for_some_batches_only(net: Net) -> None:
    def model(x: torch.Tensor) -> Any:
        return {"a": x, "b": x} if x[0, 0] else {"a": x}

    with pytest.raises(BadRequest, match="returned b for some batches only"):
        dt.predict(model, X, batch_size=5)


def test_a_list_that_is_as_long_as_the_last_batch_by_chance() -> None:
    with pytest.raises(
        BadRequest, match="a list with one result for each sample for some batches only"
    ) as caught:
        dt.predict(lambda v: [v, v + 1], torch.arange(22.0).view(11, 2), batch_size=3)
    assert "a tuple or a dict" in caught.value.hint
    one, two = dt.predict(lambda v: (v, v + 1), torch.arange(22.0).view(11, 2), batch_size=3)
    assert torch.equal(two, one + 1)


def test_fingerprints(net: Net) -> None:
    marks = {whole: models.fingerprint(net, whole=whole) for whole in (True, False)}
    assert marks == {whole: models.fingerprint(net, whole=whole) for whole in (True, False)}
    with torch.no_grad():
        net.layer.bias += 1
    for whole in (True, False):
        assert models.fingerprint(net, whole=whole) != marks[whole]
    assert models.fingerprint(lambda x: x, whole=True) == ""
    lazy = nn.Sequential(nn.LazyLinear(3), nn.Linear(3, 1).to(torch.bfloat16))
    assert models.fingerprint(lazy, whole=False)


def test_ddp_is_called_beneath_and_sends_no_buffers(tmp_path: Path) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        wrapped = DistributedDataParallel(nn.BatchNorm1d(2))
        outer = nn.Sequential(wrapped)
        with models.predicting(wrapped) as called:
            assert called is wrapped.module
        with models.predicting(outer) as called:
            assert called is outer
            assert not wrapped.will_sync_module_buffers()
        assert wrapped.will_sync_module_buffers()
        assert dt.predict(outer, X).shape == X.shape
    finally:
        dist.destroy_process_group()


def test_errors_read_as_one_sentence_and_one_hint(net: Net) -> None:
    with pytest.raises(DtrainError) as caught:
        dt.predict(net, Endless())
    assert str(caught.value) == (
        "The dataset (Endless) has no length, so its samples can't be divided among the ranks. "
        "Give its class a __len__, or make a list of it: list(dataset)."
    )


def test_small_results_are_sent_together_and_large_ones_alone() -> None:
    spans = [range(start, start + 10) for start in range(0, 60, 20)]
    assert messages(spans, 4) == [spans]
    assert messages(spans, MESSAGE_BYTES // 20) == [spans[:2], spans[2:]]
    assert messages(spans, MESSAGE_BYTES) == [[span] for span in spans]
    assert messages([], 4) == []


class Paired(Ranks):
    """Rank 0 of two; the other one takes as long and as much."""

    messages = 0

    def sums_begun(self, *numbers: int) -> Sums:
        Paired.messages += 1
        return Sums(torch.tensor(numbers) * 2, None)

    def outcomes(self, value: Any, error: Exception | None) -> list[Any]:
        return [value, value]


def test_short_rounds_are_told_of_a_few_at_a_time() -> None:
    here = Paired("dt.predict", 0, 2, torch.device("cpu"))
    todo = plan(Batches(1000, 1), 2)
    taken: list[int] = []
    Loop(
        here, todo, lambda numbers: [X[:1] for _ in numbers], nn.Identity(), Splitter(nn.Identity(), False),
        None, False, lambda number, *_: taken.append(number),
    ).run()  # fmt: skip
    assert taken == todo.mine(0)
    assert todo.rounds > 30
    assert Paired.messages <= loop.FEWEST_MESSAGES + 4, "fewer than rounds"


def test_rounds_that_become_longer_are_told_of_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two take 2 ms: a rank that fails later does not leave the rest to the others."""
    now, made = 0.0, loop._Since
    monkeypatch.setattr(loop.time, "monotonic", lambda: now)
    monkeypatch.setattr(loop, "_Since", lambda: made(began=now))
    here = Paired("dt.predict", 0, 2, torch.device("cpu"))
    told = loop._RoundReports(here, False, 400, tqdm(disable=True))
    at: list[int] = []
    for number in range(400):
        now += 0.002 if number < 2 else 0.05
        before = Paired.messages
        told.report(None, 1)
        at += [number] * (Paired.messages - before)
    assert max(b - a for a, b in itertools.pairwise(at)) <= 400 / loop.FEWEST_MESSAGES
