"""A sweep of 30 trials whose server, driver, heads and ranks are killed at random times.

Every trial has to end once, and none may be lost. `BENCH_SEED` repeats the times of a run.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measure import Row, emit
from tests.books import write
from tests.integration.sweeps.test_local_sweeps import killed_server

TRIALS = int(os.environ.get("BENCH_TRIALS", "30"))
SEED = int(os.environ.get("BENCH_SEED", str(int(time.time()))))
ROUNDS = 3
"""In each, one process of each kind is killed."""
EVERY_S = (0.5, 4.0)
THERE_WITHIN_S = 10.0
"""How long a kill waits for a process of its kind: between two trials there is no head."""
PARAMETERS = "lr = 0\nsteps = 6\npause = 0.5"
WORK = """import time
import dtrain_lab as dt
latest = dt.latest_checkpoint()
for step in range(latest.step if latest is not None else 0, steps):
    dt.log(step, loss=lr)
    with dt.checkpoint(step + 1):
        pass
    time.sleep(pause)
print("ENDED", lr, flush=True)"""


def killed(some: Callable[[], list[psutil.Process]]) -> bool:
    """Kill one of some processes, as soon as there is one."""
    until = time.monotonic() + THERE_WITHIN_S
    while time.monotonic() < until:
        processes = some()
        if processes:
            with suppress(psutil.NoSuchProcess):
                random.choice(processes).kill()
                return True
        time.sleep(0.1)
    return False


def found(*words: str) -> list[psutil.Process]:
    """The processes of this run whose command lines have these words."""
    base = os.environ["DTRAIN_LAB_RUNTIME_DIR"]
    some = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        try:
            if all(word in line for word in words) and process.environ()["DTRAIN_LAB_RUNTIME_DIR"] == base:
                some.append(process)
        except (psutil.Error, KeyError):
            continue
    return some


def ranks(sweep: Any) -> list[psutil.Process]:
    """The ranks of the trials that run."""
    import dtrain_lab as dt

    running = {t["job"] for t in sweep.trials() if t["state"] in ("running", "resumed")}
    pids = [r["pid"] for job in dt.jobs() if job.id in running for r in job.info()["ranks"] if r["pid"]]
    return [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]


def main() -> None:
    """Kill in a sweep in folders of its own."""
    import dtrain_lab as dt

    random.seed(SEED)
    print(f"seed {SEED}", file=sys.stderr)
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="dtk") as base:
        folder = Path(base)
        os.environ |= {
            "HOME": str(folder / "home"),
            "JUPYTER_DATA_DIR": str(folder / "data"),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "DTRAIN_LAB_RUNTIME_DIR": base,
        }
        work = folder / "work"
        write(work / "train.ipynb", [(PARAMETERS, "parameters"), WORK])
        body = {
            "notebook": "train.ipynb", "space": {"lr": list(range(TRIALS))}, "objective": "loss",
            "sampler": "grid", "parallel": 2, "nodes": 1, "ranks_per_node": 1,
        }  # fmt: skip
        with ExitStack() as server:
            made = server.enter_context(killed_server(work))("POST", "sweeps", body)
            sweep = next(one for one in dt.sweeps() if one.id == made["id"])
            ways: dict[str, Callable[[], list[psutil.Process]]] = {
                "driver": lambda: found("dtrain_lab.services.sweeps", sweep.id),
                "head": lambda: found("dtrain_lab.head"),
                "agent": lambda: found("dtrain_lab.node", "attached"),
                "rank": lambda: ranks(sweep),
            }
            kinds = [*ways, "server"]
            for way in (kind for _ in range(ROUNDS) for kind in random.sample(kinds, len(kinds))):
                time.sleep(random.uniform(*EVERY_S))
                if sweep.state != "running":
                    break
                if way == "server":
                    server.close()
                    server.enter_context(killed_server(work))
                    counts[way] = counts.get(way, 0) + 1
                elif killed(ways[way]):
                    counts[way] = counts.get(way, 0) + 1
            state = sweep.wait(900)
        trials = sweep.trials()
        jobs = {job.id: job for job in dt.jobs()}
        logs = [
            sum(jobs[job].logs().count(f"ENDED {trial['parameters']['lr']}\n") for job in trial["jobs"])
            for trial in trials
        ]
        lost = [t for t in trials if t["state"] != "succeeded"]
        twice = sorted(job for t in trials for job in t["jobs"]) != sorted(jobs)
        print(state, counts, [t["resumes"] for t in trials], logs, file=sys.stderr)
        for one in lost:
            print(one, file=sys.stderr)
        once = sum(ended == 1 for ended in logs)
    said = ", ".join(f"{count} × {what}" for what, count in sorted(counts.items()))
    wrong = TRIALS - once + len(lost) + twice
    emit(
        [
            Row(
                f"sweep of {TRIALS} trials, kill -9 at random times: {said}",
                f"{once} of {TRIALS} ended once, {len(lost)} lost",
                "all, once",
                float(wrong),
                0.0,
            )
        ]
    )


if __name__ == "__main__":
    main()
