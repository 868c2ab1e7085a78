"""`dt.predict` into a file, and what a crash leaves of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from torch import nn

import dtrain_lab as dt
from dtrain_lab.errors import BadRequest, EnvironmentUnfit
from dtrain_lab.training.inference.batch_shares import Batches
from dtrain_lab.training.inference.code_digest import digest
from dtrain_lab.training.inference.results.part_files import Parts, State, folder_of

X = torch.arange(50.0).view(25, 2)


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(2, 3)


def test_without_pyarrow_the_extra_is_named(
    net: nn.Module, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EnvironmentUnfit, match="pyarrow, which is not installed") as caught:
        dt.predict(net, X, output=tmp_path / "x.parquet")
    assert "dtrain-lab[inference]" in caught.value.hint


def test_a_folder_that_is_not_there_is_made_and_told(
    net: nn.Module, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(2):
        dt.predict(net, X, output=tmp_path / "new" / f"{number}.parquet")
    assert capsys.readouterr().out == f"dt.predict created the folder {tmp_path / 'new'}.\n"
    (tmp_path / "file").touch()
    with pytest.raises(BadRequest, match=r"The folder of .*/file/x.parquet can't be created: File exists"):
        dt.predict(net, X, output=tmp_path / "file" / "x.parquet")


def read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    with pa.ipc.open_file(str(path)) as reader:
        return reader.read_all()


@pytest.mark.parametrize("name", ["x.parquet", "deep/x.arrow"])
def test_results_as_a_file(net: nn.Module, tmp_path: Path, name: str) -> None:
    def model(x: torch.Tensor) -> Any:
        words = [None if v < 20 else f"{v:g}" for v in x[:, 0].tolist()]
        half = x.to(torch.bfloat16)
        return {
            "logits": net(x),
            "cube": x.view(-1, 2, 1).int(),
            "half": half,
            "sure": x[:, 0] > 9,
            "word": words,
        }

    path = dt.predict(model, X, batch_size=4, output=str(tmp_path / name))
    assert path == tmp_path / name
    rows = read(path).to_pydict()
    assert rows["logits"] == dt.predict(model, X, batch_size=4)["logits"].tolist()
    assert rows["cube"] == X.view(-1, 2, 1).int().tolist()
    assert rows["half"] == X.to(torch.bfloat16).tolist()
    assert rows["sure"] == (X[:, 0] > 9).tolist()
    assert rows["word"] == [None if v < 20 else f"{v:g}" for v in X[:, 0].tolist()]
    assert [p.name for p in path.parent.iterdir()] == [path.name], "nothing else is left"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            lambda x: {"cache": object(), "x": x},
            "cache of the model's output can't be a column: a batch has one",
        ),
        (lambda x: [object() for _ in x], r"its values are of the type object\."),
        (
            lambda x: [[1, "a"] for _ in x],
            "its values hold values of different types",
        ),
        (lambda x: [2**70 for _ in x], "larger than a number of 64 bits"),
        (lambda x: torch.complex(x, x), "Complex numbers"),
        (lambda x: {"a.b": x, "a": {"b": x}}, "would be the column a.b"),
        (
            lambda x: ["text" if x[0, 0] else 5 for _ in x],
            r"changes its type between batches: prediction \(int64 and string\)\.",
        ),
    ],
)
def test_what_can_not_be_a_column(model: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=words):
        dt.predict(model, X, output=tmp_path / "x.arrow")


class Crash(nn.Module):
    """Ends after some batches, as a killed process does for what is on disk."""

    def __init__(self, batches: int | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.left = batches
        self.named = False
        self.seen: list[float] = []

    def forward(self, x: torch.Tensor) -> Any:
        if self.left is not None:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
        self.seen += x[:, 0].tolist()
        return {"y": x * self.weight} if self.named else x * self.weight


def crashed(path: Path, model: Any, **options: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        dt.predict(model, X, batch_size=2, output=path, **options)
    assert not path.exists()


def test_a_second_call_goes_on_where_a_crash_ended_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.parquet"
    crashed(path, Crash(5))
    again = Crash(None)
    dt.predict(again, X, batch_size=2, output=path)
    assert again.seen == X[10:, 0].tolist()
    assert "resumes x.parquet: 10 of 25 samples are already written" in capsys.readouterr().out
    assert read(path).to_pydict()["prediction"] == (X * again.weight).tolist()
    whole = Crash(None)
    dt.predict(whole, X, batch_size=2, output=path)
    assert len(whole.seen) == 25, "a call that has ended is done anew: the samples may be others"


def changed(model: Crash) -> Crash:
    with torch.no_grad():
        model.weight[1] += 1e-6
    return model


@pytest.mark.parametrize(
    ("model", "data", "size"),
    [(changed(Crash(None)), X, 2), (Crash(None), X[:-1], 2), (Crash(None), X, 4)],
    ids=["parameters", "length", "batch size"],
)
def test_results_of_other_parameters_or_samples_are_not_gone_on_with(
    tmp_path: Path, model: Crash, data: torch.Tensor, size: int
) -> None:
    crashed(tmp_path / "x.arrow", Crash(5))
    dt.predict(model, data, batch_size=size, output=tmp_path / "x.arrow")
    assert len(model.seen) == len(data)


def test_a_collate_fn_that_is_no_function(net: nn.Module) -> None:
    with pytest.raises(BadRequest, match=r"dt\.predict: collate_fn is 3; it must be a function"):
        dt.predict(net, X, collate_fn=3)  # type: ignore[arg-type]


def scaled(factor: float, batches: int | None) -> Any:
    """A function of the user, who corrects `factor`; it ends after some batches."""
    calls = 0

    def model(x: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if ends and calls > ends[0]:
            raise KeyboardInterrupt
        return x * factor

    ends = [] if batches is None else [batches]
    return model


def test_results_of_another_function_are_not_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.arrow"
    for factor, said in (
        (2.0, "resumes x.arrow: 10 of 25"),
        (3.0, "starts x.arrow from the beginning: the code of the"),
    ):
        crashed(path, scaled(2.0, 5))
        dt.predict(scaled(factor, None), X, batch_size=2, output=path)
        assert read(path).to_pydict()["prediction"] == (X * factor).tolist()
        assert said in capsys.readouterr().out
        path.unlink()


def test_the_code_of_a_function_and_what_it_reads() -> None:
    def made(text: str, **reads: Any) -> str:
        space = dict(reads, torch=torch)
        exec(text, space)
        return digest(space["f"])

    net, same = nn.Linear(2, 1), nn.Linear(2, 1)
    same.load_state_dict(net.state_dict())
    plain = made("def f(x): return net(x) * g", net=net, g=2)
    assert plain == made("\n\ndef f(x):\n    return net(x) * g", net=same, g=2), (
        "lines and copies don't count"
    )
    assert plain != made("def f(x): return net(x) * g", net=net, g=3)
    assert plain != made("def f(x): return net(x) * g", net=nn.Linear(2, 1), g=2)
    assert plain != made("def f(x): return net(x) + g", net=net, g=2)
    counts = "def f(x):\n    global n\n    n += 1\n    return x"
    assert made(counts, n=0) == made(counts, n=5), "a counter is no part of the code"
    sums = "def f(x): return x + t"
    ones = torch.ones(3)
    assert made(sums, t=ones) == made(sums, t=ones.clone()) != made(sums, t=ones * 2)
    odd = (ones.to("meta"), torch.complex(ones, ones).conj(), torch.empty(0), torch.eye(3).to_sparse())
    assert len({made(sums, t=one) for one in odd}) == 4, "what can't be read has its type and shape"
    helped = "def h(x): return x * {}\ndef f(x, y={}): return h(x) if x in {{'a', 'b'}} else f(y)"
    assert len({made(helped.format(*two)) for two in ((1, 1), (1, 2), (2, 1), (1, 1))}) == 3
    one, two = (torch.compile(scaled(factor, None), backend="eager") for factor in (1.0, 2.0))
    assert digest(one) != digest(two)


def test_the_code_of_a_module_counts() -> None:
    def net(text: str) -> nn.Module:
        kind = type("Net", (nn.Module,), {"forward": eval(text), "__module__": "cell"})
        return nn.Sequential(kind())

    assert digest(net("lambda self, x: x * 2")) == digest(net("lambda self, x: x * 2"))
    assert digest(net("lambda self, x: x * 2")) != digest(net("lambda self, x: {'x': x * 2}"))


def test_other_columns_after_a_crash_are_told_and_the_next_call_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    crashed(path, Crash(5))
    other = Crash(None)
    other.named = True
    with pytest.raises(BadRequest, match="differ between batches: prediction, and y") as caught:
        dt.predict(other, X, batch_size=2, output=path)
    assert caught.value.code == "outputs_differ"
    assert not any(tmp_path.iterdir())
    dt.predict(other, X, batch_size=2, output=path)
    assert read(path).column_names == ["y"]


def test_a_part_that_is_damaged_or_half_written_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    crashed(path, Crash(5))
    folder = folder_of(path, "x.arrow")
    names = sorted(p.name for p in folder.glob("0*"))
    assert names[0] == "000000000000-000000000002.arrow"
    (folder / names[0]).write_bytes(b"ARROW1 cut")
    (folder / names[1]).rename(folder / "000000000003-000000000005.arrow")  # of other batches
    (folder / ".rank-1").write_bytes(b"half")
    again = Crash(None)
    dt.predict(again, X, batch_size=2, output=path)
    assert again.seen == X[[0, 1, 2, 3, *range(10, 25)], 0].tolist()
    assert read(path).to_pydict()["prediction"] == (X * again.weight).tolist()


def test_all_parts_there_and_no_file_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.arrow"
    with monkeypatch.context() as patch:
        patch.setattr(Parts, "assemble", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            dt.predict(Crash(None), X, output=path)
    again = Crash(None)
    dt.predict(again, X, output=path)
    assert (again.seen, read(path).num_rows) == ([], 25)


def test_in_a_job_parts_lie_with_the_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DTRAIN_JOB", str(tmp_path))
    monkeypatch.setenv("DTRAIN_CHECKPOINT_DIR", str(tmp_path / "c"))
    first, second = (folder_of(tmp_path / job / "x.arrow", "x.arrow") for job in ("job-1", "job-2"))
    assert first == second, "a resumed job has another working directory"
    assert first.parent == tmp_path / "c"
    assert folder_of(tmp_path / "x.arrow", "other/x.arrow") != first


def test_in_a_cluster_parts_lie_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DTRAIN_JOB", raising=False)
    monkeypatch.setenv("DTRAIN_CHECKPOINT_DIR", str(tmp_path / "c"))  # as every rank of a cluster has it
    assert folder_of(tmp_path / "x.arrow", "x.arrow") == tmp_path / ".x.arrow.parts"
    assert not (tmp_path / "c").exists()


def test_a_folder_that_a_rank_does_not_see(tmp_path: Path) -> None:
    batches = Batches(4, 2)
    store = Parts(tmp_path / "p", State(4, 2, "m"), batches)
    assert not store.is_shared()
    store.open()
    assert store.is_shared()
    assert not Parts(tmp_path / "p", State(4, 2, "other"), batches).is_shared()
