"""Code from tutorials runs unchanged, although the group is there already.

The functions are those of PyTorch's "Getting Started with Distributed Data Parallel" (setup, cleanup,
ToyModel, demo_basic, demo_checkpoint, run_demo), with the CPU in place of `rank` as a device.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.errors import CellFailed

pytestmark = pytest.mark.processes

TUTORIAL = """
import os
import sys
import tempfile
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim
import torch.multiprocessing as mp

from torch.nn.parallel import DistributedDataParallel as DDP

def setup(rank, world_size):
    os.environ['MASTER_ADDR'] = 'localhost'
    os.environ['MASTER_PORT'] = '12355'

    # initialize the process group
    dist.init_process_group("gloo", rank=rank, world_size=world_size)

def cleanup():
    dist.destroy_process_group()

class ToyModel(nn.Module):
    def __init__(self):
        super(ToyModel, self).__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))

def demo_basic(rank, world_size):
    print(f"Running basic DDP example on rank {rank}.")
    setup(rank, world_size)

    # create model and move it to GPU with id rank
    model = ToyModel().to(device)
    ddp_model = DDP(model)

    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)

    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5).to(device)
    loss_fn(outputs, labels).backward()
    optimizer.step()

    cleanup()
    print(f"Finished running basic DDP example on rank {rank}.")

def demo_checkpoint(rank, world_size):
    print(f"Running DDP checkpoint example on rank {rank}.")
    setup(rank, world_size)

    model = ToyModel().to(device)
    ddp_model = DDP(model)

    CHECKPOINT_PATH = tempfile.gettempdir() + "/dtrain-lab-tutorial.checkpoint"
    if rank == 0:
        torch.save(ddp_model.state_dict(), CHECKPOINT_PATH)

    dist.barrier()
    ddp_model.load_state_dict(torch.load(CHECKPOINT_PATH, weights_only=True))

    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)

    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5).to(device)
    loss_fn(outputs, labels).backward()
    optimizer.step()

    dist.barrier()
    if rank == 0:
        os.remove(CHECKPOINT_PATH)

    cleanup()
    print(f"Finished running DDP checkpoint example on rank {rank}.")

def run_demo(demo_fn, world_size):
    mp.spawn(demo_fn, args=(world_size,), nprocs=world_size, join=True)

run_demo(demo_basic, world_size)
run_demo(demo_checkpoint, world_size)
"""


def test_the_ddp_tutorial_runs_twice_as_it_is(pair: dt.Cluster) -> None:
    for _ in range(2):
        result = pair.run(TUTORIAL, timeout=120)
        for rank in (0, 1):
            assert f"Finished running basic DDP example on rank {rank}." in result.stdout[rank]
            assert f"Finished running DDP checkpoint example on rank {rank}." in result.stdout[rank]


def test_init_is_a_no_op_with_one_note(pair: dt.Cluster) -> None:
    code = "import torch.distributed as dist\ndist.init_process_group()\ndist.init_process_group('gloo')"
    result = pair.run(code)
    assert result.stderr[0].count("init_process_group does nothing") == 1


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("world_size=8, rank=rank", "asks for 8 ranks; there are 2"),
        ("world_size=2, rank=0", "calls this rank 0; it is rank 1"),
        ("'nccl'", "don't have a GPU each"),
        ("'mpi'", "asks for mpi"),
    ],
)
def test_arguments_that_do_not_fit_are_a_clear_error(pair: dt.Cluster, arguments: str, part: str) -> None:
    with pytest.raises(CellFailed, match=part):
        pair.run(f"import torch.distributed as dist\ndist.init_process_group({arguments})")


def test_dataloader_workers_and_their_output(pair: dt.Cluster) -> None:
    code = """
import torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i):
        print("worker item", i, flush=True)
        return torch.tensor(i)
print(sum(int(x.sum()) for x in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2)))
"""
    result = pair.run(code, timeout=60)
    for text in result.stdout.values():
        assert text.count("worker item") == 4
        assert text.splitlines()[-1] == "6"


def test_ddp_takes_its_model_by_name_and_shows_its_own_parameters(pair: dt.Cluster) -> None:
    code = """
import inspect, torch
from torch.nn.parallel import DistributedDataParallel
model = DistributedDataParallel(module=torch.nn.Linear(2, 2))
model(torch.ones(1, 2)).sum().backward()
print(list(inspect.signature(DistributedDataParallel).parameters)[0])
"""
    assert pair.run(code).stdout == {0: "module\n", 1: "module\n"}


def test_a_rank_is_a_program_of_torchrun_and_no_terminal(pair: dt.Cluster) -> None:
    code = """
import os, sys, torch.distributed as dist
print(hasattr(sys, "ps1"), dist.is_torchelastic_launched(), os.environ["GROUP_RANK"], sys.argv[1:])
"""
    assert pair.run(code).stdout == {0: "False True 0 []\n", 1: "False True 0 []\n"}


def test_an_exit_because_of_an_interrupt_is_an_interrupt(pair: dt.Cluster) -> None:
    code = """
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    exit(1)
"""
    result = pair.run(code, check=False)
    assert "SystemExit" not in result.sentence
    assert "nterrupt" in result.sentence


def test_scripts_with_arguments(pair: dt.Cluster, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=1.0)\n"
        "lr = p.parse_args().lr\nprint(p.prog, lr, __name__)\n"
    )
    assert pair.run(script.read_text()).stdout[0] == "ipykernel_launcher.py 1.0 __main__\n"
    found = pair.run(f"import sys\nbefore = sys.argv\n%run {script} --lr 0.5\nprint(lr, sys.argv == before)")
    assert found.stdout[1] == "train.py 0.5 __main__\n0.5 True\n"
