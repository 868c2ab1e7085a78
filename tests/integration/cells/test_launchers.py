"""Launchers of processes (`mp.spawn`, `notebook_launcher`, `idist.spawn` …): the ranks are there already."""

from __future__ import annotations

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import CellFailed

pytestmark = pytest.mark.processes


LAUNCH = """
import torch, torch.distributed as dist, torch.multiprocessing as mp
def sums(index, add):
    dist.init_process_group("gloo", rank=index, world_size=2)
    t = torch.tensor([float(add + index)])
    dist.all_reduce(t)
    print(t.item())
"""


@pytest.mark.parametrize(
    "call",
    [
        "mp.start_processes(sums, args=(1,), nprocs=2, start_method='fork')",
        "assert mp.spawn(sums, args=(1,), nprocs=2, join=False).join()",
        # as Accelerate's notebook_launcher calls it
        "from torch.distributed.launcher.api import LaunchConfig, elastic_launch\n"
        "config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, rdzv_endpoint='127.0.0.1:29500')\n"
        "print(elastic_launch(config, lambda add: sums(rank, add))(1))",
        # as PyTorch's "Writing Distributed Applications" calls it
        "ps = [mp.Process(target=sums, args=(r, 1)) for r in range(2)]\n"
        "[p.start() for p in ps]; [p.join() for p in ps]; assert [p.exitcode for p in ps] == [0, 0]",
        "ps = [mp.get_context('spawn').Process(target=sums, args=(r, 1)) for r in range(2)]\n"
        "[p.start() for p in ps]; [p.join() for p in ps]",
    ],
)
def test_what_would_make_the_ranks_runs_in_them(pair: dt.Cluster, call: str) -> None:
    result = pair.run(LAUNCH + call, timeout=60)
    assert [text.split("\n")[0] for text in result.stdout.values()] == ["3.0", "3.0"]
    assert "the 2 ranks are there already; " in result.stderr[0]


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ("mp.spawn(sums, args=(1,), nprocs=3)", "mp.spawn asks for 3 processes; 2 ranks are there already"),
        ("mp.spawn(sums, args=(1,), nprocs=0)", r"asks for 0 processes; .* Give nprocs as 2.$"),
        ("mp.start_processes(sums, args=(1,), nprocs=4)", "asks for 4 processes"),
        (
            "from torch.distributed.launcher.api import LaunchConfig, elastic_launch\n"
            "elastic_launch(LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=4), sums)(1)",
            "asks for 4 processes",
        ),
        ("notebook_launcher(sums, (1,), num_processes=3)", "asks for 3 processes"),
        ("debug_launcher(sums, (1,), num_processes=3)", "asks for 3 processes"),
        ("idist.spawn('gloo', sums, args=(1,), nproc_per_node=4)", r"have 4 ranks: .* number of ranks.$"),
        ("idist.spawn('gloo', sums, args=(1,), nproc_per_node=1)", "asks for 1 process; .* Give .* as 2.$"),
        ("with idist.Parallel('gloo', nproc_per_node=4) as p: p.run(sums, 1)", "asks for 4 processes"),
        ("mp.Process(target=sums, args=(2, 1)).start()", "sums in its own process would create another"),
        (
            "mp.Process(target=lambda: sums(0, 1)).start()",
            "in its own process would create another",
        ),
    ],
)
def test_launchers_of_other_sizes_are_refused_in_words(pair: dt.Cluster, call: str, part: str) -> None:
    imports = "import ignite.distributed as idist\nfrom accelerate import debug_launcher, notebook_launcher\n"
    with pytest.raises(CellFailed, match=part):
        pair.run((imports if "mp." not in call else "") + LAUNCH + call, timeout=60)
    assert pair.run("import multiprocessing\nprint(multiprocessing.active_children())").stdout[0] == "[]\n"


def test_processes_without_a_group_are_processes(pair: dt.Cluster) -> None:
    code = "import multiprocessing as mp\np = mp.Process(target=print, args=('here', rank))\n"
    code += "p.start(); p.join(); print(p.exitcode, p.pid != __import__('os').getpid())"
    result = pair.run(code, timeout=60)
    assert sorted(result.stdout[1].split("\n")) == ["", "0 True", "here 1"]


LIGHTNING = """
import lightning, torch
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def training_step(self, batch, i): return self.net(batch).sum()
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.01)
def fit(devices):
    trainer = lightning.Trainer(strategy="ddp_notebook", accelerator="cpu", devices=devices, max_epochs=1,
                                enable_progress_bar=False, logger=False, enable_checkpointing=False)
    trainer.fit(Module(), torch.utils.data.DataLoader(torch.randn(16, 4), batch_size=2))
    print(trainer.world_size, trainer.global_step)
fit(2)
"""


def test_lightnings_launcher_of_processes_trains_in_the_ranks(pair: dt.Cluster) -> None:
    """`strategy="ddp_notebook"`, which people have in notebooks."""
    assert pair.run(LIGHTNING, timeout=90).stdout == dict.fromkeys((0, 1), "2 4\n")
    with pytest.raises(CellFailed, match=r"Lightning asks for 4 processes; .* Give devices as 2"):
        pair.run("fit(4)")


ACCELERATORS = """
from accelerate import Accelerator, notebook_launcher
mine = Accelerator(mixed_precision="bf16")
def train(precision):
    print(Accelerator(mixed_precision=precision).mixed_precision)
notebook_launcher(train, ("no",), num_processes=2)
print(mine.mixed_precision)
"""


def test_notebook_launcher_after_a_cell_with_an_accelerator(pair: dt.Cluster) -> None:
    """Each process of its own would have begun without an accelerator; it refuses to fork one that has it."""
    shown = pair.run(ACCELERATORS, timeout=90).stdout
    assert [text.splitlines()[-2:] for text in shown.values()] == [["no", "bf16"]] * 2


DEBUGGED = """
from accelerate import Accelerator, debug_launcher
def train(offset):
    accelerator = Accelerator()
    print("trains", accelerator.num_processes, accelerator.process_index + offset)
debug_launcher(train, (5,), num_processes=2)
"""


def test_debug_launcher_runs_in_the_ranks(pair: dt.Cluster) -> None:
    shown = pair.run(DEBUGGED, timeout=90).stdout
    assert [text.splitlines()[-1] for text in shown.values()] == ["trains 2 5", "trains 2 6"]


SPAWNED = """
import ignite.distributed as idist
def training(local_rank, config):
    total = idist.all_reduce(config["offset"] + local_rank)
    print("trains", local_rank, idist.get_rank(), idist.get_world_size(), total)
idist.spawn("gloo", training, args=({"offset": 5},), nproc_per_node=2)
with idist.Parallel(backend="gloo", nproc_per_node=2) as parallel:
    parallel.run(training, {"offset": 7})
"""


def test_ignites_launchers_run_in_the_ranks(pair: dt.Cluster) -> None:
    shown = pair.run(SPAWNED, timeout=90).stdout
    assert shown == {rank: f"trains {rank} {rank} 2 11\ntrains {rank} {rank} 2 15\n" for rank in (0, 1)}
