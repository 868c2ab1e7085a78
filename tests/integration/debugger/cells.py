"""Cells that run while a debugger holds their ranks, and the file that most of them step through."""

from __future__ import annotations

import threading
from typing import Any

import dtrain_lab as dt
from dtrain_lab.api.debug import Debugger
from dtrain_lab.api.result import Result

STEPS = """
import torch
import torch.distributed as dist

def step(x, i):
    y = x * 2
    z = y + i
    dist.all_reduce(z)
    w = z.sum().item()
    return w

def train(rank, n=3):
    total = 0
    for i in range(n):
        total += step(torch.ones(2) * rank, i)
    return total
"""
RIGHT = {0: "24.0\n", 1: "24.0\n"}
"""Of `train`: 4 + 4 * i, summed."""


class Running:
    """A cell that runs beside the test."""

    def __init__(self, cluster: dt.Cluster, code: str, **options: Any) -> None:
        self.result: Result | None = None
        self._thread = threading.Thread(target=self._run, args=(cluster, code, options), daemon=True)
        self._thread.start()

    def _run(self, cluster: dt.Cluster, code: str, options: dict[str, Any]) -> None:
        self.result = cluster.run(code, check=False, **options)

    def end(self) -> Result:
        self._thread.join(60)
        assert self.result is not None, "the cell did not end"
        return self.result


def lines(debugger: Debugger) -> list[int | None]:
    """The line at which each rank stands."""
    return [r.place.line if r.place is not None else None for r in debugger.state.ranks]
