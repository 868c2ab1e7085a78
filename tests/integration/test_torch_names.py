"""Another torch, which has renamed private names: ranks start, run cells and are interrupted all the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.rank.torch import names
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

WITHOUT = """
import ast, builtins, os, sys
from importlib.machinery import SourceFileLoader

PATHS = os.environ["RENAMED"].split(";")
NAMES = {path.replace(" sets ", ".").replace(":", ".").rpartition(".")[2] for path in PATHS}

def gone(owner, name):
    raise AttributeError(f"{type(owner).__name__} has no {name}: renamed by a test")

class Renamed(ast.NodeTransformer):
    # what our code takes from torch; torch itself goes on with it
    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr not in NAMES or not isinstance(node.ctx, ast.Load):
            return node
        call = ast.Call(ast.Name("dtrain_gone", ast.Load()), [node.value, ast.Constant(node.attr)], [])
        return ast.copy_location(call, node)

    def visit_ImportFrom(self, node):
        if NAMES.isdisjoint(alias.name for alias in node.names):
            return node
        return ast.copy_location(ast.Raise(ast.Name("ImportError", ast.Load())), node)

usual = SourceFileLoader.get_code

def get_code(self, name):
    if not name.startswith("dtrain_lab.rank.torch"):
        return usual(self, name)
    path = self.get_filename(name)
    tree = ast.fix_missing_locations(Renamed().visit(ast.parse(self.get_data(path))))
    return compile(tree, path, "exec", dont_inherit=True)

builtins.dtrain_gone = gone
SourceFileLoader.get_code = get_code
words = " ".join(sys.orig_argv)
if "dtrain_lab.node" in words:
    from dtrain_lab.rank.torch import names

    find = names.find
    names.lost.cache_clear()

    def renamed(path):
        if path in PATHS:
            raise AttributeError(path)
        return find(path)

    names.find = renamed
"""
TRAIN = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.distributed.fsdp import fully_shard
torch.manual_seed(0)
data = DataLoader(TensorDataset(torch.randn(64, 8)), batch_size=8)
def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (batch,) in data:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
train(DDP(torch.nn.Linear(8, 1)))
train(fully_shard(torch.nn.Linear(8, 1)))
dist.new_group([0, 1])
t = torch.ones(1)
dist.all_reduce(t)
print(t.item())
"""
PATHS = sorted({path for feature in names.FEATURES for path in feature.names})


def needing(path: str) -> str:
    """The features that need a name."""
    return ";".join(f.key for f in names.FEATURES if path in f.names)


GROUPS = {key: ";".join(p for p in PATHS if needing(p) == key) for key in sorted(set(map(needing, PATHS)))}
"""Features → the names that just they need: what stands on one of those must not run without it."""


@pytest.mark.parametrize("missing", [*GROUPS.values(), "all"], ids=[*GROUPS, "all"])
def test_ranks_train_and_are_interrupted_without(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("RENAMED", ";".join(PATHS) if missing == "all" else missing)
    with dt.start(ranks=2) as cluster:
        lost = cluster.run(
            "from dtrain_lab.rank.torch import names\nprint(len(names.lost()))", ranks="0"
        ).stdout[0]
        assert int(lost) > 0, "the name is still there: this test tests nothing"
        assert cluster.run(TRAIN).stdout == {0: "2.0\n", 1: "2.0\n"}

        stands = "import time\nprint('stands')\nif rank == 0: dist.barrier()\nelse: time.sleep(600)"
        with ThreadPoolExecutor() as pool:
            ended = pool.submit(cluster.run, stands, check=False)
            wait_until(lambda: cluster.info()["ranks"][0]["state"] != "idle", 20, "rank 0 to begin")
            cluster.interrupt()
            assert "interrupted" in ended.result(30).sentence
        assert cluster.run(TRAIN).stdout == {0: "2.0\n", 1: "2.0\n"}
