"""Sweeps: start of a trial once a slot is free, and 16 trials against the same runs by hand, back to back."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, emit, middle
from tests.books import write

TRIALS = int(os.environ.get("BENCH_TRIALS", "16"))
WORK_S = 4.0
STARTS = 7
CODE = """import time
import torch
import torch.distributed as dist
print("BEGIN", time.time(), flush=True)
time.sleep(work)
{log}"""


def run(book: Path, count: int, **more: Any) -> tuple[float, list[dict[str, Any]]]:
    """Run a sweep to its end: its wall time, and its trials with when their code began."""
    import dtrain_lab as dt

    began = time.perf_counter()
    sweep = dt.sweep(book, {"lr": list(range(count))}, "loss", sampler="grid", **more)
    state = sweep.wait(900)
    took = time.perf_counter() - began
    assert state == "succeeded", sweep.info()
    jobs = {job.id: job for job in dt.jobs()}
    trials = []
    for trial in sweep.trials():
        said = re.search(r"BEGIN ([\d.]+)", jobs[trial["job"]].logs())
        assert said is not None
        trials.append({**trial, "began": float(said[1])})
    return took, trials


def by_hand(folder: Path, lanes: int) -> float:
    """The same runs as plain scripts, one after the other in each slot: wall time."""
    file = folder / "hand.py"
    file.write_text(f"work = {WORK_S}\n" + CODE.format(log=""))

    def lane(number: int) -> None:
        for _ in range(number, TRIALS, lanes):
            subprocess.run([sys.executable, str(file)], check=True, stdout=subprocess.DEVNULL)

    began = time.perf_counter()
    with ThreadPoolExecutor(lanes) as pool:
        list(pool.map(lane, range(lanes)))
    return time.perf_counter() - began


def main() -> None:
    """Measure in folders of their own."""
    with tempfile.TemporaryDirectory(prefix="dtb") as base:
        folder = Path(base)
        os.environ |= {
            "HOME": str(folder / "home"),
            "JUPYTER_DATA_DIR": str(folder / "data"),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "DTRAIN_LAB_RUNTIME_DIR": base,
        }
        parameters = f"lr = 0\nwork = {WORK_S}"
        code = CODE.format(log="import dtrain_lab as dt\ndt.log(1, loss=lr)")
        book = write(folder / "book" / "train.ipynb", [(parameters, "parameters"), code])
        lanes = len(os.sched_getaffinity(0))
        hand = by_hand(folder, lanes)
        took, _ = run(book, TRIALS, parallel=lanes)
        # long enough for the process that forks the others to be there
        _, trials = run(book, STARTS, parallel=1, parameters={"work": 2.0})
        gaps = [b["began"] - a["ended_at"] for a, b in itertools.pairwise(trials)]
        start = middle(gaps)
    emit(
        [
            Row(
                "sweep: a slot is free → the next trial's code runs, warm; limit 1.5 s",
                f"{start:.2f} s",
                "–",
                start / 1.5,
                1.0,
            ),
            Row(
                f"sweep of {TRIALS} one-rank trials of {WORK_S:g} s, {lanes} at once",
                f"{took:.1f} s",
                f"{hand:.1f} s, plain scripts back to back",
                took / hand,
                1 / 0.9,
            ),
        ]
    )


if __name__ == "__main__":
    main()
