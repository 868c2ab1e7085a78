"""10,000 cells on 4 ranks, through a real kernel: the memory of head, agent, kernel and ranks stays flat."""

from __future__ import annotations

import os
import time

import psutil

from benchmarks.cells.cell_latency import Kernel
from benchmarks.measure import Row, emit, tree
from dtrain_lab.services.connection import head_records

RANKS = 4
CELLS = int(os.environ.get("BENCH_SOAK", "10000"))
WARM = CELLS // 10
CELL = "%%distributed\nfor i in range(5): print('line', i, rank)\nt = torch.ones(1); dist.all_reduce(t)"


def memory(kernel: Kernel) -> dict[str, int]:
    """Resident bytes by kind of process."""
    sizes: dict[str, int] = {"kernel": psutil.Process(kernel.manager.provisioner.pid).memory_info().rss}
    record = next(r for r in head_records.living() if not r.warm)
    for process in tree(record.pid):
        command = " ".join(process.cmdline())
        kind = "head" if "dtrain_lab.head" in command else "ranks and fork server"
        if "dtrain_lab.node " in f"{command} ":
            kind = "agent"
        sizes[kind] = sizes.get(kind, 0) + process.memory_info().rss
    return sizes


def plain() -> float:
    """MiB by which a kernel grows that runs as many plain cells: its own history."""
    kernel = Kernel()
    try:
        process = psutil.Process(kernel.manager.provisioner.pid)
        for number in range(CELLS):
            kernel.run("for i in range(5): print('line', i)\nt = 1")
            if number == WARM:
                before = process.memory_info().rss
        return float(process.memory_info().rss - before) / 2**20
    finally:
        kernel.close()


def main() -> None:
    """Run, and compare the memory after a tenth of the cells with that at the end."""
    kernel = Kernel()
    try:
        kernel.run("%load_ext dtrain_lab")
        kernel.run(f"%distributed start --ranks {RANKS}")
        kernel.run("%%distributed\nimport torch, torch.distributed as dist")
        began = time.perf_counter()
        for number in range(CELLS):
            kernel.run(CELL)
            if number == WARM:
                before = memory(kernel)
        seconds = time.perf_counter() - began
        after = memory(kernel)
    finally:
        kernel.close()
    usual = plain()
    rows = []
    for kind, size in after.items():
        growth = (size - before[kind]) / 2**20
        own = kind == "kernel"
        rows.append(
            Row(
                f"{CELLS} cells on {RANKS} ranks in {seconds:.0f} s: growth of {kind} after the first tenth",
                f"{growth:+.1f} MiB of {size / 2**20:.0f}",
                f"{usual:+.1f} MiB, a kernel with plain cells" if own else "of its size",
                growth / usual if own else size / before[kind],
                1.25 if own else 1.1,
            )
        )
    emit(rows)


if __name__ == "__main__":
    main()
