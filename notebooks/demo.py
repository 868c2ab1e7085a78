"""`make demo`: the quickstart, headless, with its metrics. Ranks of this machine do the work."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import dtrain_lab as dt
from dtrain_lab.errors import DtrainError
from dtrain_lab.text.units import UNSTEADY, precise_share
from dtrain_lab.wire.jobs.job import Job

HERE = Path(__file__).parent
EPOCHS = 12
"""In place of the notebook's own, which leave somebody time to look at the panel."""


class Watcher(threading.Thread):
    """Looks at the running cluster as the panel does, and keeps the best of its metrics."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.done = threading.Event()
        self.seen: list[tuple[float, float, float | None]] = []

    def run(self) -> None:
        while not self.done.wait(0.25):
            for cluster in dt.clusters():
                try:
                    metrics = cluster.info()["metrics"]
                except DtrainError:  # it has just ended
                    continue
                if metrics["samples_per_s"] and metrics["comm_overhead"] is not None:
                    self.seen.append(
                        (metrics["samples_per_s"], metrics["comm_overhead"], metrics["comm_overhead_error"])
                    )


def main() -> int:
    """Execute the notebook; returns the exit code."""
    notebook = nbformat.read(HERE / "quickstart.ipynb", as_version=4)
    cells = [c for c in notebook.cells if c.cell_type == "code"]
    (tagged,) = [c for c in cells if "parameters" in c.metadata.get("tags", [])]
    print(f"notebooks/quickstart.ipynb with epochs = {EPOCHS}, where it says {tagged.source}:")
    tagged.source = f"epochs = {EPOCHS}"
    watcher = Watcher()
    watcher.start()
    began = time.perf_counter()

    def executed(cell: Any, cell_index: int, **_: Any) -> None:
        print(f"[{cells.index(cell) + 1}/{len(cells)}] {cell.source.splitlines()[0]}")
        for output in cell.outputs:
            if output.output_type == "stream":
                print("".join(f"      {line}\n" for line in output.text.splitlines()), end="", flush=True)

    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(HERE)}},
        extra_arguments=["--log-level=40"],  # ipykernel's warnings about loopback would be taken for ours
    )
    client.on_cell_executed = lambda cell, cell_index, **more: executed(cell, cell_index)
    try:
        asyncio.run(client.async_execute())
    except CellExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        watcher.done.set()
        watcher.join()
    out = Path(tempfile.mkdtemp(prefix="dtrain-lab-")) / "quickstart.ipynb"
    nbformat.write(notebook, out)
    print(f"\nThe quickstart ran in {time.perf_counter() - began:.0f} s.")
    if watcher.seen:
        samples, overhead, error = sorted(watcher.seen, key=lambda one: one[:2])[len(watcher.seen) // 2]
        print(f"  throughput      {samples:,.0f} samples/s over all ranks")
        print(f"  communication   {estimated(overhead, error)}")
    print(f"  executed copy   {out}")
    code = submit()
    print("\nOpen it in JupyterLab: make lab")
    return code


def estimated(share: float, error: float | None) -> str:
    """The share of communication in words, as the panel has it."""
    said = precise_share(share, error or 0.0)
    return said if said == UNSTEADY else f"{said} of a step (an estimate)"


def submit() -> int:
    """Run the same notebook as a job of two nodes on this machine; returns the exit code."""
    print("\nThe same notebook, submitted as a job of two nodes on this machine:")
    job = dt.submit(
        HERE / "quickstart.ipynb",
        nodes=2,
        ranks_per_node=1,
        name="quickstart",
        parameters={"epochs": EPOCHS},
    )
    seen: set[str] = set()

    def show(info: Job) -> None:
        if info.summary.text not in seen:
            seen.add(info.summary.text)
            print(f"      {info.summary.text}", flush=True)

    state = job.wait(on_change=show)
    for line in job.logs(ranks=0).splitlines():
        print(f"      {line}")
    if state != "succeeded":
        return 1
    points = [p for p in job.metrics()["history"] if p["samples_per_s"] and p["comm_overhead"] is not None]
    if points:
        middle = sorted(points, key=lambda p: p["samples_per_s"])[len(points) // 2]
        print(f"  throughput      {middle['samples_per_s']:,.0f} samples/s over all ranks")
        print(f"  communication   {estimated(middle['comm_overhead'], middle['comm_overhead_error'])}")
    print(f"  executed copy   {job.info()['directory']}/executed.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main())
