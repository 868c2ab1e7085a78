"""Profiles of hosts that tests write, and what they run there."""

from __future__ import annotations

from dtrain_lab.services import paths
from tests.hosts import Hosts

TRAIN = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
model = DDP(torch.nn.Linear(8, 1))
def steps(n):
    for _ in range(n):
        model(torch.randn(4, 8)).sum().backward()
steps(3)
"""


def write_profile(name: str, text: str) -> None:
    folder = paths.profiles()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.toml").write_text(text)


def empty(hosts: Hosts, name: str) -> bool:
    return not hosts.running(name)
