"""The debugger: time to stop, a step over all_reduce, attaching, what it costs before, during and after.

Peers: for a step, ipykernel's own debugger on one process, torch.distributed.breakpoint, which steps one rank
while the others run, and Monarch's debugger on all; for the cost, a rank on which it was never used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import dtrain_lab as dt
from benchmarks.debugger.debugger_focus import focus_change
from benchmarks.debugger.debugger_peers import monarch_step, torch_breakpoint
from benchmarks.measure import ROOT, Row, emit
from dtrain_lab.api.debug import Debugger

REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))
STEPS = 40
OTHERS = os.environ.get("BENCH_PYTHONS", "").split()
"""Other interpreters with debugpy and msgspec: PyTorch is not needed there."""
LIMITS_MS = {2: 25.0, 4: 45.0, 8: 90.0}
MODULE = """
import time, torch
import torch.distributed as dist

def reduce(x, n):
    for i in range(n):
        dist.all_reduce(x)
        i += 1
    return x

def inner(i):
    return i + 1

def loop(n):
    began = time.perf_counter()
    total = 0
    for i in range(n):
        total += inner(i)
    return time.perf_counter() - began
"""


def run(cluster: dt.Cluster, code: str) -> threading.Thread:
    """Run a cell beside the measurement."""
    thread = threading.Thread(target=cluster.run, args=(code,), kwargs={"check": False}, daemon=True)
    thread.start()
    return thread


def stood(debugger: Debugger, ranks: int) -> float:
    """When all ranks stand. Looks without the API's own pauses: their length is not what is measured."""
    while len(debugger.paused) < ranks:
        time.sleep(0.0005)
    return time.perf_counter()


def steps(ranks: int, module: Path) -> tuple[float, float]:
    """Seconds: breakpoint → all stopped; `next` over all_reduce, the median."""
    with dt.start(ranks=ranks) as cluster:
        cluster.run(f"import sys; sys.path.insert(0, {str(module.parent)!r})\nimport code_of_bench, torch")
        with cluster.debug() as debugger:
            debugger.set_breakpoint(str(module), 7)
            began = time.perf_counter()
            cell = run(cluster, f"code_of_bench.reduce(torch.ones(2), {STEPS})")
            stop = stood(debugger, ranks) - began
            debugger.clear()
            taken = []
            for _ in range(STEPS):  # line 7 is the collective; two more lines are the loop's
                line = debugger.state.ranks[0].place
                began = time.perf_counter()
                debugger.step()
                ended = stood(debugger, ranks)
                if line is not None and line.line == 7:
                    taken.append(ended - began)
            debugger.go()
            cell.join()
        return stop, median(taken)


def costs(module: Path) -> tuple[float, float, float, float]:
    """Seconds of a loop: never debugged, attached, detached; and of attaching to busy ranks."""
    code = "print(code_of_bench.loop(300_000))"
    with dt.start(ranks=2) as plain, dt.start(ranks=2) as cluster:
        found: dict[str, list[float]] = {"never": [], "attached": [], "after": []}
        for one in (plain, cluster):
            one.run(f"import sys; sys.path.insert(0, {str(module.parent)!r})\nimport code_of_bench")
        cell = run(cluster, "while not globals().get('ends'): pass")
        while cluster.info()["ranks"][0]["state"] != "busy":
            time.sleep(0.01)
        began = time.perf_counter()
        debugger = cluster.debug()
        attach = time.perf_counter() - began
        debugger.pause()
        stood(debugger, 2)
        debugger.detach()
        cluster.interrupt()
        cell.join()

        def measure(name: str, one: dt.Cluster) -> None:
            found[name].append(float(one.run(code, ranks=[0]).stdout[0]))

        for _ in range(REPEATS * 3):
            measure("never", plain)
            with cluster.debug():
                measure("attached", cluster)
            measure("after", cluster)
        middle = {name: median(values) for name, values in found.items()}
        return middle["never"], middle["attached"], middle["after"], attach


def pause(module: Path) -> tuple[str, str]:
    """What all_reduce gives in a group with a time-out of 5 s, while a rank stands for 15 s; and without."""
    code = """import torch, torch.distributed as dist
from datetime import timedelta
group = dist.new_group(timeout=timedelta(seconds=5))
if rank == 0: code_of_bench.inner({})
t = torch.ones(1) * (rank + 1); dist.all_reduce(t, group=group); print(t.item())"""
    with dt.start(ranks=2) as cluster:
        cluster.run(f"import sys; sys.path.insert(0, {str(module.parent)!r})\nimport code_of_bench")
        usual = cluster.run(code.format(1)).stdout[1].strip()
        with cluster.debug() as debugger:
            debugger.set_breakpoint(str(module), 12)
            found: list[str] = []
            cell = threading.Thread(
                target=lambda: found.append(cluster.run(code.format(1)).stdout[1].strip())
            )
            cell.start()
            stood(debugger, 1)
            time.sleep(15)
            debugger.go()
            cell.join()
    return found[0].strip(), usual


def elsewhere(python: str) -> list[Row]:
    """What it costs in another interpreter, which has debugpy and msgspec."""
    command = [python, "-m", "benchmarks.debugger.debugger_detach"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found = json.loads(done.stdout)
    attached, after = (found[k] / found["never_s"] for k in ("attached_s", "after_s"))
    limit = 1.7 if found["python"] == "3.11" else 1.05
    name = f"debugger: 300,000 calls of Python {found['python']} in a process of its own"
    return [
        Row(f"{name}, attached", f"{found['attached_s'] * 1e3:.0f} ms", "never debugged", attached, None),
        Row(f"{name}, after detach", f"{found['after_s'] * 1e3:.0f} ms", "never debugged", after, limit),
    ]


def _ms(seconds: float | None) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds is not None else "not here"


def ipykernel_step() -> float:
    """Seconds of `next` in ipykernel's own debugger on one process: what a person has today."""
    from tests.integration.debugger.debugged import Debugged

    code = "def f(n):\n    for i in range(n):\n        x = i\n        y = x + i\n    return y\nf(100)"
    notebook = Debugged()
    try:
        notebook.switch_on()
        notebook.breakpoints(notebook.source(code), 3)
        cell = notebook.begin(code)
        thread = notebook.event("stopped")["threadId"]
        notebook.breakpoints(notebook.source(code))
        taken = []
        for _ in range(20):
            began = time.perf_counter()
            notebook.ask("next", threadId=thread)
            notebook.event("stopped")
            taken.append(time.perf_counter() - began)
        notebook.ask("continue", threadId=thread)
        notebook.end(cell)
        notebook.ask("disconnect", restart=False, terminateDebuggee=False)
        return median(taken)
    finally:
        notebook.close()


def main() -> None:
    """Measure."""
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "code_of_bench.py"
        module.write_text(MODULE)
        peer = ipykernel_step()
        rows: list[Any] = []
        for ranks, limit in LIMITS_MS.items():
            stop, step = steps(ranks, module)
            if ranks == 2:
                rows.append(
                    Row(
                        "debugger: cell → all stopped, 2 ranks",
                        f"{stop * 1e3:.0f} ms",
                        "of 300 ms allowed",
                        stop / 0.3,
                        1.0,
                    )
                )
            rows.append(
                Row(
                    f"debugger: next over all_reduce, {ranks} ranks, p50",
                    f"{step * 1e3:.1f} ms",
                    f"of {limit:g} ms allowed; ipykernel on one process {peer * 1e3:.0f} ms; "
                    f"torch.distributed.breakpoint, one rank alone, {torch_breakpoint(ranks) * 1e3:.1f} ms; "
                    f"Monarch {_ms(monarch_step(ranks))}",
                    step * 1e3 / limit,
                    1.0,
                )
            )
        with_pause, without = pause(module)
        same = 0.0 if with_pause == without else 2.0
        rows.append(
            Row(
                "debugger: a pause of 15 s in a group with a time-out of 5 s: sum of the all_reduce after it "
                "(0: the right one)",
                with_pause,
                f"{without}, no pause",
                same,
                1.0,
            )
        )
        focus = focus_change()
        rows.append(
            Row(
                "debugger: another rank chosen in the browser → its variables",
                f"{focus * 1e3:.0f} ms",
                "of 500 ms allowed",
                focus / 0.5,
                1.0,
            )
        )
        never, attached, after, attach = costs(module)
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        rows += [
            Row("debugger: attach to busy ranks", f"{attach:.2f} s", "of 3 s allowed", attach / 3, 1.0),
            Row(
                f"debugger: call-heavy loop while attached, no breakpoint, Python {version}",
                f"{attached * 1e3:.0f} ms",
                f"{never * 1e3:.0f} ms never debugged",
                attached / never,
                None,
            ),
            Row(
                f"debugger: the same loop after detach, Python {version}",
                f"{after * 1e3:.0f} ms",
                f"{never * 1e3:.0f} ms never debugged",
                after / never,
                1.7 if sys.version_info < (3, 12) else 1.05,
            ),
        ]
        emit(rows + [row for python in OTHERS for row in elsewhere(python)])


if __name__ == "__main__":
    main()
