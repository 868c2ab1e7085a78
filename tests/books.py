"""Notebooks for tests of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

LOAD = "%load_ext dtrain_lab\n%distributed start --ranks 2"
PARAMETERS = "steps = 5\nfails = -1\npause = 0.0"
GROUP = """import os, time, torch, torch.distributed as dist
print('rank', rank, 'local', local_rank, 'of', world_size)"""
TRAIN = """%%distributed
import dtrain_lab as dt
from torch.nn.parallel import DistributedDataParallel as DDP
torch.manual_seed(0)
model = DDP(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
first = 0
latest = dt.latest_checkpoint()
if latest is not None:
    model.load_state_dict(torch.load(latest.path / "model.pt"))
    first = latest.step
    print("goes on from", first)
for step in range(first, steps):
    loss = model(torch.randn(8, 16)).square().mean()
    loss.backward()
    if step == fails:
        if rank == world_size - 1:
            raise ValueError("the data ended early")
    optimizer.step(); optimizer.zero_grad()
    dt.log(step, loss=loss)
    time.sleep(pause)
    if step % 5 == 4:
        with dt.checkpoint(step + 1) as folder:
            if rank == 0:
                torch.save(model.state_dict(), folder / "model.pt")
print("done", step + 1)"""
PLAIN = {
    "from torch.nn.parallel import DistributedDataParallel as DDP\n": "\n",
    "DDP(torch.nn.Linear(16, 4))": "torch.nn.Linear(16, 4)",
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)": "",
    "optimizer.step(); optimizer.zero_grad()": "for p in model.parameters(): "
    "dist.all_reduce(p.grad); p.data -= 0.01 / world_size * p.grad; p.grad = None",
}
"""Without DDP and an optimizer, which load torch's compiler: more than a second of processor on each rank."""
FAILING_LINE = 18
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
END = "float(sum(p.abs().sum() for p in model.parameters()))"


STEP = """%%distributed
import os, time, torch, torch.distributed as dist
def step(x, i):
    y = x * 2
    dist.all_reduce(y)
    return y.sum().item()"""
LOOP = """i, total = 0, 0.0
while i < 100_000 and not ended():
    i += 1
    total = step(torch.ones(2) * rank, i)
    time.sleep(0.005)
print("total", total)"""


def looping(path: Path, stop: str, *first: str) -> Path:
    """One whose ranks reduce in a loop, its third cell, until there is a file `stop`; `first` runs before."""
    # all ranks see the file at the same step, or one would wait for the other
    ended = f"""def ended():
    flag = torch.tensor(float(os.path.exists({stop!r})))
    dist.all_reduce(flag)
    return bool(flag)"""
    return write(path, [STEP, "\n".join([*first, ended]), LOOP])


def write(path: Path, cells: Sequence[str | tuple[str, str]]) -> Path:
    """A notebook of code cells; a pair is a cell with a tag."""
    made = []
    for cell in cells:
        source, tags = (cell, []) if isinstance(cell, str) else (cell[0], [cell[1]])
        made.append(new_code_cell(source, metadata={"tags": tags} if tags else {}))
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=made, metadata={"kernelspec": KERNEL}), path)
    return path


def training(path: Path, plain: bool = False) -> Path:
    """One that trains, keeps checkpoints, and fails where `fails` says.

    With DDP, or, where it matters to no assertion how its ranks share gradients, plainly with `all_reduce`.
    """
    train = TRAIN
    for usual, instead in PLAIN.items() if plain else ():
        assert usual in train
        train = train.replace(usual, instead)
    return write(path, [LOAD, (PARAMETERS, "parameters"), GROUP, train, END])


SHADOWS = ("random.py", "socket.py", "torch.py", "logging.py")
"""Files that people have beside notebooks, and that are no modules of Python or PyTorch."""


def shadow(folder: Path) -> Path:
    """Put files into a folder that end whoever takes them for the modules of their names."""
    for name in SHADOWS:
        (folder / name).write_text("raise ImportError(f'{__file__} was imported')\n")
    return folder
