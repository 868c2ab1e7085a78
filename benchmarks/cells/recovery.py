"""Interrupts and deaths: how long until the prompt is back and the same model trains on; pushes; idle CPU."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import ipyparallel as ipp
import numpy as np
import psutil

import dtrain_lab as dt
from benchmarks.measure import PYTHON, Row, emit, middle, tree

RANKS = 4
IDLE_RANKS = 8
REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))
MODEL = """
import os, signal, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
torch.manual_seed(0)
model = DDP(torch.nn.Linear(64, 64), init_sync=not globals().get('late', False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train():
    optimizer.zero_grad()
    model(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
"""
ELASTIC = """
import os, signal, sys, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
again = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
# a prefix for each attempt: with the agent's store torch adds none, and gloo finds the addresses of the dead
store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
dist.init_process_group(
    "gloo", store=dist.PrefixStore(f"attempt {again}", store),
    rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]),
)
model = DDP(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train():
    optimizer.zero_grad()
    model(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
train()
if again:
    dist.barrier()
    os.write(1, f"AGAIN {time.time()}\\n".encode())
    time.sleep(1)
    os._exit(0)
if dist.get_rank() == 1:
    os.write(1, f"KILL {time.time()}\\n".encode())
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""


def interrupt(cluster: dt.Cluster) -> float:
    """Seconds from an interrupt inside a collective to the cell's end and a working all_reduce."""
    code = "time.sleep(600) if rank == 1 else dist.barrier()"
    thread = threading.Thread(target=lambda: cluster.run(code, check=False))
    thread.start()
    while cluster.info()["ranks"][0]["state"] != "in collective":
        time.sleep(0.02)
    began = time.perf_counter()
    cluster.interrupt()
    thread.join()
    cluster.run("t = torch.ones(1); dist.all_reduce(t)")
    return time.perf_counter() - began


def kill(cluster: dt.Cluster) -> float:
    """Seconds from a SIGKILL to the survivors' same model trained on with a replaced rank."""
    cluster.run("train()")
    result = cluster.run(
        "if rank == 1:\n    print(repr(time.time()))\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "dist.barrier()",
        check=False,
    )
    began = float(result.stdout[1])
    cluster.restart([1])
    cluster.run("late = True\n" + MODEL, ranks=[1])
    cluster.run("for p in model.parameters(): dist.broadcast(p.data, 0)\ntrain()")
    return time.time() - began


def torchrun() -> float | None:
    """Seconds from a SIGKILL to the first step after torchrun's restart; all state is lost.

    None where its workers did not find each other again.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "elastic.py"
        script.write_text(ELASTIC)
        command = [PYTHON, "-m", "torch.distributed.run", f"--nproc-per-node={RANKS}", "--max-restarts=1"]
        command += ["--standalone"]
        done = subprocess.run(
            [*command, str(script)],
            capture_output=True, text=True, env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
        )  # fmt: skip
    at = {w: float(line.split()[1]) for line in done.stdout.splitlines() for w in [line.split()[0]]}
    return at["AGAIN"] - at["KILL"] if "AGAIN" in at else None


def push(cluster: dt.Cluster) -> tuple[float, float]:
    """Seconds to push 100 MB to all ranks and read it there: ours, and ipyparallel's own."""
    data = np.random.default_rng(0).random(100_000_000 // 8)
    began = time.perf_counter()
    cluster.push(data=data)
    ours = time.perf_counter() - began
    arrived = cluster.run("print(data.shape, float(data[0]), float(data[-1]))").stdout
    assert set(arrived.values()) == {f"{data.shape} {float(data[0])} {float(data[-1])}\n"}
    plain = ipp.DirectView.push
    view = cluster.view().client[:]  # ipyparallel's own, which takes no turns with cells
    began = time.perf_counter()
    plain(view, {"data": data}, block=True)
    return ours, time.perf_counter() - began


def idle() -> float:
    """CPU of all processes of a cluster of 8 that does nothing, as a share of a core."""
    with dt.start(ranks=IDLE_RANKS) as cluster:
        cluster.run("import torch")
        time.sleep(3)
        processes = tree(cluster._connection.record.pid)
        before = sum(_cpu(p) for p in processes)
        time.sleep(20)
        return (sum(_cpu(p) for p in processes) - before) / 20


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """All figures."""
    interrupts, kills, elastic, pushes = [], [], [], []
    with dt.start(ranks=RANKS) as cluster:
        cluster.run(MODEL)
        cluster.run("train()")
        for _ in range(REPEATS):
            interrupts.append(interrupt(cluster))
            kills.append(kill(cluster))
            elastic.append(torchrun())
            pushes.append(push(cluster))
    ours, theirs = middle([a for a, _ in pushes]), middle([b for _, b in pushes])
    killed = middle(kills)
    came_back = [seconds for seconds in elastic if seconds is not None]
    restarted = middle(came_back) if came_back else None
    share = idle()
    emit(
        [
            Row(
                "interrupt in a collective to prompt back, group usable; limit 1 s",
                f"{middle(interrupts):.2f} s", "none in 25 s (findings)", middle(interrupts) / 1.0, 1.0,
            ),
            Row(
                "kill to replaced, group whole, the same DDP model trained on; limit 1.5 s",
                f"{killed:.2f} s", "–", killed / 1.5, 1.0,
            ),
            Row(
                f"the same, against a restart that loses all state ({len(came_back)} of {REPEATS} came back)",
                f"{killed:.2f} s",
                f"{restarted:.2f} s, torchrun" if restarted else "torchrun: none came back",
                killed / restarted if restarted else None, 0.3 if restarted else None,
            ),
            Row(
                "push 100 MB to 4 ranks", f"{ours:.2f} s", f"{theirs:.2f} s, ipyparallel",
                ours / theirs, 0.1,
            ),
            Row("idle cluster of 8 ranks, CPU of all our processes; limit 4 % of a core",
                f"{share * 100:.1f} %", "–", share / 0.04, 1.0),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
