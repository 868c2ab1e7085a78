"""What people do in notebooks, on ranks: help, profiles, source code of classes, workers, ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import CellFailed
from tests.waiting import wait_until

pytestmark = pytest.mark.processes

CLASS = """
class Net:
    width = 4

    def forward(self):
        return self.width
"""


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("x = [1]\nx?", ["Type:", "list"]),
        (f"{CLASS}\nNet??", ["class Net:", "return self.width"]),
        ("%pdoc len", ["Return the number of items"]),
        ("%%prun\nsum(range(1000))", ["function calls", "{built-in method builtins.sum}"]),
        ("%prun sum(range(1000))", ["function calls"]),
    ],
)
def test_what_a_pager_would_show_is_shown(pair: dt.Cluster, code: str, parts: list[str]) -> None:
    result = pair.run(code, timeout=30)
    for text in result.stdout.values():
        plain = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert all(part in plain for part in parts), plain


@pytest.mark.parametrize("members", ["", "\n    def f(self):\n        return 1\n"])
def test_the_source_of_a_class_is_its_cell(pair: dt.Cluster, members: str) -> None:
    pair.run(f"# a comment\nclass Shown:\n    x = 1\n{members}")
    result = pair.run("import inspect\nprint(inspect.getsource(Shown))")
    assert result.stdout[1].rstrip() == f"class Shown:\n    x = 1\n{members}".rstrip()


WORKERS = """
from torch.utils.data import DataLoader, Dataset
SCALE = 3
class Item:
    def __init__(self, value):
        self.value = value
def collate(values):
    return Item(sum(values) * SCALE)
class Squares(Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return i * i
if __name__ == "__main__":
    batches = list(DataLoader(Squares(), batch_size=2, num_workers=1, collate_fn=collate,
                              multiprocessing_context="spawn"))
    print([b.value for b in batches], all(type(b) is Item for b in batches))
"""


def test_workers_by_spawn_have_classes_of_cells(pair: dt.Cluster) -> None:
    assert pair.run(WORKERS, timeout=60).stdout == dict.fromkeys((0, 1), "[3, 39] True\n")


def test_what_is_registered_for_the_exit_runs_when_a_cluster_is_stopped(tmp_path: Path) -> None:
    with dt.start(ranks=2, name="leaves") as cluster:
        code = f"import atexit, pathlib\natexit.register(pathlib.Path({str(tmp_path)!r}, str(rank)).touch)"
        cluster.run(code)
        assert list(tmp_path.iterdir()) == []
    wait_until(lambda: sorted(p.name for p in tmp_path.iterdir()) == ["0", "1"], 10, "both ranks' ends")


RPC = """
import torch.distributed.rpc as rpc
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=world_size)
if rank == 0:
    print(rpc.rpc_sync("worker1", max, args=(3, 4)))
rpc.shutdown()
"""


def test_rpc_begins_as_often_as_it_is_asked_to(pair: dt.Cluster) -> None:
    assert pair.run(RPC, timeout=60).stdout[0] == "4\n"
    assert pair.run(RPC + RPC, timeout=60).stdout[0] == "4\n4\n"
    with pytest.raises(CellFailed, match="init_rpc asks for 3 processes; 2 ranks are there"):
        pair.run("rpc.init_rpc('a', rank=rank, world_size=3)", timeout=60)
