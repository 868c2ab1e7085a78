"""What people do in notebooks, on ranks: help, profiles, source code of classes, workers, ends."""

from __future__ import annotations

import os
import re
import signal
from functools import partial
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


QUEUES = """
import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor
class Item:
    def __init__(self, value):
        self.value = value
def square(x):
    return Item(x * x)
context = mp.get_context(METHOD)
with context.Pool(1) as pool:
    items = pool.map(square, range(3))
    def square(x):
        return Item(x + 100)
    items += pool.map(square, [1]) if METHOD == "spawn" else []
with ProcessPoolExecutor(1, mp_context=context) as pool:
    items += pool.map(square, [2])
print([i.value for i in items], all(type(i) is Item for i in items))
"""


@pytest.mark.parametrize(("method", "values"), [("spawn", "0, 1, 4, 101, 102"), ("fork", "0, 1, 4, 102")])
def test_queues_to_processes_carry_functions_of_cells(pair: dt.Cluster, method: str, values: str) -> None:
    result = pair.run(f"METHOD = {method!r}\n{QUEUES}", timeout=60)
    assert result.stdout == dict.fromkeys((0, 1), f"[{values}] True\n")


TEE = """
import os, sys
class Tee:
    def __init__(self, stream): self.stream = stream
    def write(self, text): self.stream.write(text)
    def flush(self): self.stream.flush()
sys.stdout = Tee(sys.stdout)
print("first")
"""


def test_a_logger_in_the_place_of_stdout_keeps_the_output_of_later_cells(pair: dt.Cluster) -> None:
    assert pair.run(TEE).stdout[1] == "first\n"
    later = pair.run("print('later'); os.system('echo from C')\nsys.stdout = sys.stdout.stream")
    assert sorted(later.stdout[1].split()) == ["C", "from", "later"]


REDIRECTED = """
import contextlib, io, sys, time
print("old " * 5, file=sys.stderr)
with contextlib.redirect_stderr(io.StringIO()):
    time.sleep(0.1)  # while it is redirected, what was printed before is sent
"""


def test_text_before_a_redirection_is_shown_once(pair: dt.Cluster) -> None:
    """Of a rank that prints nothing for a while the head asks for what it has not received."""
    assert pair.run(REDIRECTED).stderr[0] == "old " * 5 + "\n"
    code = "print('new', file=sys.stderr)\ntime.sleep(2)\nprint('newer', file=sys.stderr)"
    assert pair.run(code).stderr[0] == "new\nnewer\n"


def test_a_warning_names_no_wrapper_of_ours(pair: dt.Cluster) -> None:
    code = "import torch\niter(torch.utils.data.DataLoader([1], pin_memory=True))"
    warned = pair.run(code).stderr[0]
    assert "torch/utils/data/dataloader.py:" in warned
    assert "dtrain_lab" not in warned


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


REFERENCES = """
import torch, torch.distributed.rpc as rpc
def run(rank, world_size):
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=world_size)
    if rank == 0:
        print(rpc.remote("worker1", torch.add, args=(torch.ones(2), 1)).to_here().tolist())
    rpc.shutdown()
"""


def test_rpc_with_references_ends_each_time(pair: dt.Cluster) -> None:
    """torch itself would wait for 100 s at the second end."""
    twice = f"{REFERENCES}run(rank, world_size); run(rank, world_size)"
    assert pair.run(twice, timeout=60).stdout[0] == "[2.0, 2.0]\n" * 2


def test_rpc_that_one_rank_has_ended_alone_is_refused(pair: dt.Cluster) -> None:
    code = """
import torch.distributed.rpc as rpc
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=world_size)
try:
    rpc.shutdown(timeout="an interrupt" if rank == 0 else 0)
except (TypeError, RuntimeError):
    rpc.shutdown(graceful=False)
"""
    pair.run(code, timeout=60, check=False)
    with pytest.raises(CellFailed, match="The ranks did not shut down RPC together"):
        pair.run("rpc.init_rpc(f'worker{rank}', rank=rank, world_size=world_size)", timeout=60)
    pair.restart()
    assert pair.run(RPC, timeout=60).stdout[0] == "4\n"


ON_SIGNAL = """
import os, pathlib, signal
import torch, torch.distributed as dist
def together(*_):
    total = torch.ones(1)
    dist.all_reduce(total, group=dist.new_group())
    pathlib.Path({folder!r}, f"{{rank}}").write_text(str(total.item()))
signal.signal(signal.SIGUSR1, together)
print(os.getpid())
"""


def _idle(pids: list[int], before: list[str]) -> bool:
    """Whether all main threads sleep, and have since the last call, which was given the same list."""
    now = [Path(f"/proc/{pid}/task/{pid}/status").read_text() for pid in pids]
    slept = now == before and all("State:\tS" in status for status in now)
    before[:] = now
    return slept


def test_a_signal_handler_meets_others_while_ranks_are_idle(pair: dt.Cluster, tmp_path: Path) -> None:
    pids = [int(pid) for pid in pair.run(ON_SIGNAL.format(folder=str(tmp_path))).stdout.values()]
    wait_until(partial(_idle, pids, []), 10, "the ranks to be back from their replies")
    for pid in pids:
        os.kill(pid, signal.SIGUSR1)
    wait_until(lambda: [p.read_text() for p in tmp_path.iterdir()] == ["2.0", "2.0"], 30, "both ranks' sums")
    assert pair.run("print(rank)").stdout == {0: "0\n", 1: "1\n"}


AMID_THE_REPLY = """
from dtrain_lab.machine.net.streams import Stream
usual = Stream._sent
def interrupted(stream):
    Stream._sent = usual
    signal.raise_signal(signal.SIGUSR1)
    return usual(stream)
def once():
    Stream._sent = interrupted
get_ipython().events.register("post_run_cell", lambda _: once())
"""


def test_a_signal_handler_meets_others_amid_the_reply_of_a_cell(pair: dt.Cluster, tmp_path: Path) -> None:
    """It waits for answers of the head, which another thread has to read, and to ask for."""
    pair.run(ON_SIGNAL.format(folder=str(tmp_path)) + AMID_THE_REPLY, timeout=30)
    wait_until(lambda: [p.read_text() for p in tmp_path.iterdir()] == ["2.0", "2.0"], 30, "both ranks' sums")
    assert pair.run("print(rank)", timeout=30).stdout == {0: "0\n", 1: "1\n"}
