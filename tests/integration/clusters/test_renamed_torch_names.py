"""Another torch, which has renamed private names: ranks start, run cells and are interrupted all the same."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.rank.torch import names
from tests.books import write
from tests.integration.profiles import write_profile
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
if "dtrain_lab.node" in words or "dtrain_lab.rank" in words:
    from dtrain_lab.rank.torch import names

    find = names.find
    names.lost.cache_clear()

    def renamed(path):
        if path in PATHS:
            raise AttributeError(path)
        return find(path)

    names.find = renamed
"""
OF_RANKS = """
import sys

if "dtrain_lab.node.forkserver" in words:
    from dtrain_lab.node.forkserver import messages as fork_messages
    from dtrain_lab.rank.torch import names

    PATHS, NAMES = set(), set()
    usual_import, usual_order = __import__("importlib").import_module, fork_messages.decode_order

    def import_module(name, *given, **more):
        if name == "torch.utils.data":  # else each rank loads it, at its first optimizer step
            usual_import("torch._dynamo")
        # each rank imports our modules itself, without its own names of torch
        return None if name == "dtrain_lab.rank.main" else usual_import(name, *given, **more)

    def decode_order(data):
        order = usual_order(data)
        if isinstance(order, fork_messages.ForkRank):
            PATHS.clear(), NAMES.clear()
            with open(os.environ["RENAMED_OF_RANKS"]) as file:
                lines = file.read().splitlines()
            for path in lines[order.spec.rank % len(lines)].split(";"):
                PATHS.add(path)
                NAMES.add(path.replace(" sets ", ".").replace(":", ".").rpartition(".")[2])
            names.lost.cache_clear(), names.has.cache_clear()
        return order

    __import__("importlib").import_module, fork_messages.decode_order = import_module, decode_order
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


def remove(missing: str, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str = WITHOUT) -> None:
    """Have processes that start from now on run as if torch lacked these names."""
    (folder / "sitecustomize.py").write_text(script)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("RENAMED", missing)


@pytest.fixture(scope="module")
def of_ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of which a fork server reads what names a rank lacks: a line for each rank, or one for all."""
    folder = tmp_path_factory.mktemp("renamed")
    with pytest.MonkeyPatch.context() as patch:
        remove(";".join(PATHS), folder, patch, WITHOUT + OF_RANKS)
        patch.setenv("RENAMED_OF_RANKS", str(folder / "names"))
        yield folder / "names"


@pytest.fixture(scope="module")
def two(of_ranks: Path) -> Iterator[dt.Cluster]:
    """Two ranks, to be restarted without the names of a test."""
    of_ranks.write_text(";".join(PATHS))
    with dt.start(ranks=2) as cluster:
        yield cluster


def test_doctor_says_what_this_torch_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = names.LOADERS.names[0]
    remove(path, tmp_path, monkeypatch)
    bundle = tmp_path / "report.tar.gz"
    command = [sys.executable, "-m", "dtrain_lab", "doctor"]
    done = subprocess.run(
        [*command, "--json", "--bundle", str(bundle)], capture_output=True, text=True, check=True
    )
    line = f"{names.LOADERS.without} (torch has no {path})"
    assert line in json.loads(done.stdout)["torch_lacks"]
    with tarfile.open(bundle) as archive:
        report = archive.extractfile("dtrain-lab-report/report.json")
        assert report is not None
        assert line in json.load(report)["torch_lacks"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "torch has no" in printed


def test_a_job_says_what_this_torch_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    path = names.LOADERS.names[0]
    remove(path, tmp_path, monkeypatch)
    variables = f'PYTHONPATH = "{tmp_path}"\nRENAMED = "{path}"'  # a job has no others of ours
    write_profile("renamed", f'backend = "local"\n[environment.variables]\n{variables}\n')
    book = write(tmp_path / "book.ipynb", ["import torch\nprint('runs', rank)"])
    job = dt.submit(book, "renamed", ranks=2)
    assert job.wait(90) == "succeeded", job.logs()
    line = f"[0] dtrain-lab: {names.LOADERS.without} (torch has no {path})"
    assert job.logs().count(f"{names.LOADERS.without} (torch") == 1
    assert line in job.logs()


@pytest.mark.parametrize("missing", [*GROUPS.values(), "all"], ids=[*GROUPS, "all"])
def test_ranks_train_and_are_interrupted_without(missing: str, of_ranks: Path, two: dt.Cluster) -> None:
    missing = ";".join(PATHS) if missing == "all" else missing
    of_ranks.write_text(missing)
    two.restart()
    first = two.run("from dtrain_lab.rank.torch import names\nprint(len(names.lost()))")
    assert int(first.stdout[0]) > 0, "the name is still there: this test tests nothing"
    silent = [f for f in names.FEATURES if not f.told_in_use and set(f.names) & set(missing.split(";"))]
    assert [f.key for f in silent if f.without not in first.stderr.get(0, "")] == []
    assert "torch has no" not in first.stderr.get(1, ""), "one rank says it for all"
    trained = two.run(TRAIN)
    assert trained.stdout == {0: "2.0\n", 1: "2.0\n"}
    assert "torch has no" not in trained.stderr.get(0, ""), "it is said once"

    stands = "import time\nprint('stands')\nif rank == 0: dist.barrier()\nelse: time.sleep(600)"
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(two.run, stands, check=False)
        wait_until(lambda: two.info()["ranks"][0]["state"] != "idle", 20, "rank 0 to begin")
        two.interrupt()
        assert "interrupted" in ended.result(30).sentence
    assert two.run(TRAIN).stdout == {0: "2.0\n", 1: "2.0\n"}


def test_ranks_start_run_cells_and_are_interrupted_each_without_one_name(of_ranks: Path) -> None:
    """As many ranks as names, from one fork server: rank n does without the name n."""
    of_ranks.write_text("\n".join(PATHS))
    with dt.start(ranks=len(PATHS)) as cluster:
        asks = "from dtrain_lab.rank.torch.names import lost\nprint(*[p for l in lost() for p in l.missing])"
        said = cluster.run(asks, timeout=60).stdout
        assert [path for rank, path in enumerate(PATHS) if path not in said[rank]] == []
        assert all(
            len(set(text.replace(" sets ", "").replace(" or ", "").split())) <= 2 for text in said.values()
        ), "one each"
        with ThreadPoolExecutor() as pool:
            ended = pool.submit(cluster.run, "import time\ntime.sleep(600)", check=False)
            wait_until(lambda: all(r["state"] == "busy" for r in cluster.info()["ranks"]), 60, "all to run")
            cluster.interrupt()
            assert len(ended.result(60).failures) == len(PATHS)
        assert cluster.run("print(rank)").stdout == {rank: f"{rank}\n" for rank in range(len(PATHS))}
