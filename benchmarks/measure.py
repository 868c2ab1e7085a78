"""What all benchmarks share: rows, processes, memory."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from statistics import median

import psutil


@dataclass
class Row:
    """One line of the table. `ratio` is to the peer of the same run; `limit` what we promise."""

    what: str
    ours: str
    peer: str
    ratio: float | None
    limit: float | None

    @property
    def ok(self) -> bool:
        """The promise holds."""
        return self.limit is None or (self.ratio is not None and self.ratio <= self.limit)


def pss(processes: Iterable[psutil.Process]) -> int:
    """Proportional set size of processes, bytes: pages that several share count once."""
    return sum(p.memory_full_info().pss for p in processes if p.is_running())


def tree(pid: int) -> list[psutil.Process]:
    """A process with all below it."""
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


def middle(values: list[float]) -> float:
    """The median."""
    return median(values)


def machine() -> str:
    """What the figures were measured on."""
    versions = ", ".join(
        f"{n} {metadata.version(n)}" for n in ("torch", "ipyparallel", "ipykernel", "jupyter_server")
    )
    memory = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, {versions}"


def emit(rows: list[Row]) -> None:
    """Hand rows to whoever started this benchmark; readable on its own."""
    for row in rows:
        print(json.dumps(row.__dict__), flush=True)


def collect(text: str) -> list[Row]:
    """The inverse of `emit`."""
    return [Row(**json.loads(line)) for line in text.splitlines() if line.startswith('{"what"')]


ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
