"""The self-test of `doctor --run`: starts, interrupts, kills and replaces real ranks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from dtrain_lab.api import start
from dtrain_lab.api.cluster import Cluster
from dtrain_lab.cli.base.show import sentence
from dtrain_lab.errors import CellFailed, DtrainError
from dtrain_lab.machine.facts import local_facts

SUM = """
import torch, torch.distributed as dist
t = torch.ones(1, device=device)
dist.all_reduce(t)
print(int(t))
"""
STUCK = """
import time, torch, torch.distributed as dist
if rank or world_size == 1: time.sleep(600)
t = torch.ones(1, device=device)
dist.all_reduce(t)
print(t.item())
"""
DIE = "import os, signal\nkept = 1\nos.kill(os.getpid(), signal.SIGKILL) if rank == world_size - 1 else None"


class SelfTestFailed(Exception):
    """A step of the self-test did not have the expected result."""


def run(gpu: bool, ranks: int | None) -> list[dict[str, Any]]:
    """Start ranks, interrupt, kill and replace them.

    Args:
        gpu: Fail if there is no GPU.
        ranks: Number of ranks; None for the usual number.

    Returns:
        The steps: name, whether it succeeded, seconds, and a sentence.
    """
    steps: list[dict[str, Any]] = []
    if gpu and not local_facts().gpus:
        return [{"step": "find a GPU", "ok": False, "seconds": 0.0, "message": "No GPU was found."}]

    def step(name: str, work: Callable[[], str]) -> None:
        began = time.monotonic()
        try:
            message, ok = work(), True
        except (DtrainError, SelfTestFailed, OSError) as error:
            message, ok = sentence(error), False
        seconds = round(time.monotonic() - began, 2)
        steps.append({"step": name, "ok": ok, "seconds": seconds, "message": message})

    started: list[Cluster] = []

    def begin() -> str:
        started.append(start(ranks=ranks, name=f"doctor-{os.getpid()}"))
        info = started[0].snapshot()
        return f"{info.world.size} ranks on {', '.join(sorted({r.device for r in info.ranks}))}"

    step("start ranks", begin)
    if started:
        cluster = started[0]
        step("all_reduce", lambda: _summed(cluster))
        step("interrupt a cell that hangs", lambda: _interrupted(cluster))
        step("all_reduce with the same group", lambda: _summed(cluster))
        step("kill a rank", lambda: _killed(cluster))
        step("replace it", lambda: _replaced(cluster))
        step("all_reduce after the replacement", lambda: _summed(cluster))
        step("stop", lambda: _stopped(cluster))
    return steps


def _summed(cluster: Cluster) -> str:
    result = cluster.run(SUM, timeout=60)
    size = len(result.ranks)
    if any(text.strip() != str(size) for text in result.stdout.values()):
        raise SelfTestFailed(f"expected {size}: {result.stdout}")
    return f"the sum over all ranks is {size}"


def _interrupted(cluster: Cluster) -> str:
    result = cluster.run(STUCK, timeout=2, check=False)
    if len(result.failures) != len(result.ranks):
        raise SelfTestFailed(result.sentence)
    return result.sentence


def _killed(cluster: Cluster) -> str:
    try:
        cluster.run(DIE, timeout=60)
    except CellFailed as error:
        return error.message
    raise SelfTestFailed("the cell did not fail")


def _replaced(cluster: Cluster) -> str:
    last = cluster.snapshot().world.size - 1
    cluster.restart([last])
    if last and cluster.run("print(kept)", ranks=[0]).stdout[0].strip() != "1":
        raise SelfTestFailed("rank 0 lost its variables")
    return f"rank {last} is new; the others kept their variables"


def _stopped(cluster: Cluster) -> str:
    cluster.stop()
    return "no process is left"
