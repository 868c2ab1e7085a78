"""push, pull, diff, and a peer's variables for a new rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import dtrain_lab as dt
from dtrain_lab.errors import BadRankSet, BadRequest

pytestmark = pytest.mark.processes


def test_arrays_tensors_and_nests_travel_both_ways(pair: dt.Cluster) -> None:
    values = {
        "array": np.arange(12, dtype=np.float32).reshape(3, 4),
        "half": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3),
        "nested": {"w": torch.ones(3), "names": ["a", "b"], "empty": np.zeros((0, 2))},
        "plain": 7,
    }
    assert pair.push(**values) > 0
    for rank in (0, 1):
        got = {name: pair.pull(name)[rank] for name in values}
        assert np.array_equal(got["array"], values["array"])
        assert got["half"].dtype == torch.bfloat16
        assert torch.equal(got["half"], values["half"])
        assert torch.equal(got["nested"]["w"], torch.ones(3))
        assert got["nested"]["empty"].shape == (0, 2)
        assert got["plain"] == 7


def test_each_rank_has_a_copy_of_its_own(pair: dt.Cluster) -> None:
    original = torch.zeros(1000)
    pair.push(mine=original)
    pair.run("mine += rank + 1")
    assert {rank: float(t.sum()) for rank, t in pair.pull("mine").items()} == {0: 1000.0, 1: 2000.0}
    assert float(original.sum()) == 0.0


def test_a_whole_model_keeps_its_tied_weights(pair: dt.Cluster) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4, bias=False))
    model[1].weight = model[0].weight
    pair.push(model=model)
    assert pair.run("print(model[0].weight is model[1].weight)", ranks=[1]).stdout == {1: "True\n"}
    back = pair.pull("model", ranks=[0])[0]
    assert back[0].weight is back[1].weight
    assert torch.equal(back[0].weight, model[0].weight)


def test_a_ddp_model_comes_back_as_the_model_inside(pair: dt.Cluster) -> None:
    pair.run(
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "wrapped = DDP(torch.nn.Linear(2, 1))"
    )
    assert type(pair.pull("wrapped", ranks=[0])[0]) is torch.nn.Linear


def test_diff_names_the_first_parameter_its_ranks_and_how_far(pair: dt.Cluster) -> None:
    pair.run("import torch\ntorch.manual_seed(0)\nnet = torch.nn.Sequential(torch.nn.Linear(2, 2))")
    same = pair.diff("net")
    assert same.equal
    assert not same
    assert str(same) == "net is the same on ranks 0–1 (2 parts compared)."
    pair.run("with torch.no_grad():\n    net[0].bias[1] += 0.25", ranks=[1])
    found = pair.diff("net")
    assert found.first is not None
    assert (found.first.path, found.first.others, found.differing, found.total) == ("0.bias", ((1,),), 1, 2)
    assert found.max_abs[0] == pytest.approx(0.25)
    assert str(found) == (
        "net: 0.bias is the first of 1 of 2 parts that differ: rank 0 has float32[2]; "
        "rank 1 has other values, at most 0.25 apart."
    )
    pair.run("t = torch.zeros(2 + rank)")
    assert "rank 0 has float32[2]; rank 1 has float32[3]" in str(pair.diff("t"))
    pair.run("lr = 0.1 * (rank + 1)")
    assert str(pair.diff("lr")) == "lr differs: rank 0 has 0.1; rank 1 has 0.2."


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda c: c.pull("never"), "never could not be pulled: NameError"),
        (lambda c: c.diff("never"), "never could not be compared: NameError"),
        (lambda c: c.pull("a b"), "not the name of a variable"),
        (lambda c: c.push(bad=(i for i in ())), "bad can't be pushed: TypeError"),
    ],
)
def test_what_can_not_travel_is_said_in_a_sentence(pair: dt.Cluster, call: object, part: str) -> None:
    with pytest.raises(BadRequest, match=part):
        call(pair)  # type: ignore[operator]


def test_a_variable_that_some_ranks_lack_is_said_to_be_on_the_others(pair: dt.Cluster) -> None:
    pair.run("only_here = 1", ranks=1)
    with pytest.raises(BadRequest) as refused:
        pair.pull("only_here")
    told = "only_here could not be pulled: NameError: name 'only_here' is not defined (on rank 0)."
    assert (refused.value.message, refused.value.hint) == (told, "It worked on rank 1.")
    with pytest.raises(BadRequest, match="'never' is not defined") as nowhere:
        pair.pull("never")
    assert nowhere.value.hint == "Check the name."


SETUP = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
torch.manual_seed(0)
model = DDP(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)))
optimizer = torch.optim.Adam(model.parameters())
sampler = DistributedSampler(TensorDataset(torch.arange(64.)), shuffle=False)
both = dist.new_group([0, 1])
generator = (i for i in range(3))
def train():
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
for _ in range(3): train()
"""


def test_a_restart_from_a_peer_trains_on_with_its_variables(pair: dt.Cluster) -> None:
    pair.run(SETUP)
    with pytest.raises(BadRankSet, match="is restarted, too"):
        pair.restart([1], source=1)
    said = pair.restart([1], source=0)
    assert said.startswith("Rank 1 has a new process, with ")
    assert "of rank 0" in said
    assert "Not copied: generator (generator: " in said
    assert pair.diff("model").equal
    assert pair.diff("optimizer").equal
    assert pair.run("print(sampler.rank, list(sampler)[0], rank)").stdout == {0: "0 0 0\n", 1: "1 1 1\n"}
    pair.run("for _ in range(3): train()", timeout=60)
    assert pair.diff("model").equal
    pair.run("t = torch.ones(1); dist.all_reduce(t, group=both); assert t.item() == 2", timeout=60)


def test_a_restart_from_a_peer_finds_the_modules_that_cells_have_made_known(
    pair: dt.Cluster, tmp_path: Path
) -> None:
    (tmp_path / "beside_it.py").write_text("class Kept:\n    number = 5\n")
    known = f"import os, sys\nsys.path.append({str(tmp_path)!r}); os.chdir({str(tmp_path)!r})\n"
    before = pair.run("import os\nprint(os.getcwd())", ranks=[0]).stdout[0].strip()
    pair.run(known + "import beside_it\nkept = beside_it.Kept()\nplain = rank + 1")
    try:
        pair.restart([1], source=0)
        result = pair.run("print(kept.number, plain, os.getcwd())")
        assert result.stdout == {rank: f"5 1 {tmp_path}\n" for rank in (0, 1)}
    finally:
        pair.run(f"os.chdir({before!r}); del kept")


FUNCTIONS = """
import functools, threading
@functools.cache
def table(): return scale * 7 + rank
scale, _offset, lock = 1, 100, threading.Lock()
def _private(): return _offset
def mine(): return scale * (rank + 1) + _private()
def locked():
    with lock: return scale
class Part:
    def mine(self): return scale, rank
part = Part()
"""


def test_functions_of_a_peer_read_the_new_ranks_own_variables(pair: dt.Cluster) -> None:
    """Their `rank` is its own, and what a later cell assigns is seen by all ranks' functions alike."""
    pair.run(FUNCTIONS)
    assert "Not copied: " in pair.restart([1], source=0)
    shows = "print(mine(), part.mine(), Part().mine())"
    assert pair.run(shows).stdout == {0: "101 (1, 0) (1, 0)\n", 1: "102 (1, 1) (1, 1)\n"}
    assert pair.run("print(table())").stdout == {0: "7\n", 1: "8\n"}
    pair.run("scale, lock = 10, threading.Lock()")
    assert pair.run(shows).stdout == {0: "110 (10, 0) (10, 0)\n", 1: "120 (10, 1) (10, 1)\n"}
    assert set(pair.run("print(locked())").stdout.values()) == {"10\n"}, "although its lock was not copied"


def note(number: int) -> None:
    from IPython.core.getipython import get_ipython

    get_ipython().user_ns["order"].append(number)


def test_views_take_turns_with_cells(pair: dt.Cluster) -> None:
    take_turns(pair)


def take_turns(cluster: dt.Cluster) -> None:
    """Calls of a view and cells reach all ranks in one order; a load-balanced view works beside them."""
    cluster.run("order = []")
    view = cluster.view()
    for number in range(10):
        pending = [view.apply_async(note, number * 2)]
        cluster.run(f"order.append({number * 2 + 1})")
        for one in pending:
            one.get(30)
    assert set(map(tuple, cluster.pull("order").values())) == {tuple(range(20))}
    balanced = view.client.load_balanced_view()
    assert balanced.map_async(lambda x: x * x, range(8)).get(30) == [x * x for x in range(8)]
