"""8 ranks: request → first all_reduce done, warm and cold, and memory; peers: stock ipyparallel, others."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import ipyparallel as ipp
import psutil

import dtrain_lab as dt
from benchmarks.measure import PYTHON, Row, emit, middle, pss, tree
from benchmarks.start import start_peers
from dtrain_lab.api.portal import Portal
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.connection.connection import Connection
from dtrain_lab.wire import clients

RANKS = 8
REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))
SUM = """
import torch, torch.distributed as dist
t = torch.ones(1)
dist.all_reduce(t)
assert t.item() == world_size
"""
SCRIPT = """
import time, torch, torch.distributed as dist
dist.init_process_group("gloo")
t = torch.ones(1)
dist.all_reduce(t)
print("T", time.time(), flush=True)
dist.destroy_process_group()
"""


OWN = 25 * 2**20
"""Bytes that a rank may have of its own: unlike PSS, this doesn't depend on who else maps torch's files."""


def ours(*, warm: bool) -> tuple[float, int, int]:
    """Seconds, PSS of all our processes, and what the middle one of the ranks has of its own."""
    portal = Portal.get()
    if warm:
        portal.call(portal.worlds.warm_heads.start(python=PYTHON))
        record = next(r for r in head_records.living() if r.warm)
        connection = portal.call(portal.worlds.reach(record))
        while True:
            cluster = portal.call(_info(connection))
            if all(p.done for p in cluster.progress if p.phase == "load"):
                break
            time.sleep(0.05)
    began = time.perf_counter()
    cluster = dt.start(ranks=RANKS)
    cluster.run(SUM)
    seconds = time.perf_counter() - began
    cluster.run("import gc; gc.collect()")  # as soon happens in a training: it may end the sharing of pages
    memory = pss(tree(cluster._connection.record.pid))
    ranks = cluster.run("import os; print(os.getpid())").stdout.values()
    own = middle([psutil.Process(int(pid)).memory_full_info().uss for pid in ranks])
    cluster.stop()
    return seconds, memory, int(own)


def first_view() -> tuple[float, int]:
    """Seconds of a cluster's first view, which starts ipyparallel's controller; and PSS with it."""
    with dt.start(ranks=RANKS) as cluster:
        cluster.run(SUM)
        began = time.perf_counter()
        cluster.view()
        seconds = time.perf_counter() - began
        return seconds, pss(tree(cluster._connection.record.pid))


def again() -> float:
    """Seconds of a start right after a stop, as `%distributed stop` and `%distributed start` make them."""
    dt.start(ranks=RANKS).stop_for(PYTHON)
    began = time.perf_counter()
    with dt.start(ranks=RANKS) as cluster:
        cluster.run(SUM)
        return time.perf_counter() - began


async def _info(connection: Connection) -> Any:
    return await connection.ask(clients.Info())


def stock() -> tuple[float, int]:
    """The same with ipyparallel's own Cluster and a process group made by hand."""
    before = {p.pid for p in psutil.process_iter()}
    began = time.perf_counter()
    cluster = ipp.Cluster(n=RANKS, log_level=40)
    client = cluster.start_and_connect_sync(activate=False)
    client.wait_for_engines(RANKS, timeout=180, interactive=False)
    view = client[:]
    view.block = True
    port = _free_port()
    view.scatter("rank", range(RANKS), flatten=True)
    view.execute(
        f"""
import os, torch, torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="{port}", GLOO_SOCKET_IFNAME="lo")
dist.init_process_group("gloo", rank=rank, world_size={RANKS})
t = torch.ones(1)
dist.all_reduce(t)
assert t.item() == {RANKS}
"""
    )
    seconds = time.perf_counter() - began
    made = [p for p in psutil.process_iter(["name"]) if p.pid not in before and "python" in p.info["name"]]
    memory = pss(made)
    client.shutdown(hub=True, block=False)
    cluster.stop_cluster_sync()
    client.close()
    for process in made:
        if process.is_running():
            process.kill()
    psutil.wait_procs(made, timeout=10)
    return seconds, memory


def torchrun() -> float:
    """torchrun to the end of the first all_reduce of a script."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "first_all_reduce.py"
        path.write_text(SCRIPT)
        words = [PYTHON, "-m", "torch.distributed.run", f"--nproc-per-node={RANKS}"]
        words += ["--master-port", str(_free_port()), str(path)]
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
        began = time.time()
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=True)
    ends = [float(at) for at in re.findall(r"T (\d+\.\d+)", done.stdout)]  # ranks cut each other's lines
    return max(ends) - began


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Interleave, take medians."""
    kinds = {"warm": [], "again": [], "view": [], "cold": [], "stock": [], "torchrun": []}  # type: ignore[var-annotated]
    for _ in range(REPEATS):
        kinds["stock"].append(stock())
        kinds["warm"].append(ours(warm=True))
        kinds["again"].append((again(), 0))
        kinds["view"].append(first_view())
        kinds["torchrun"].append((torchrun(), 0))
        kinds["cold"].append(ours(warm=False))
        if start_peers.available():
            kinds.setdefault("nbdistributed", []).append((start_peers.nbdistributed(RANKS), 0))
            kinds.setdefault("Monarch", []).append((start_peers.monarch(RANKS, _free_port()), 0))
    seconds = {k: middle([s for s, *_ in v]) for k, v in kinds.items()}
    memory = {k: middle([m for _, m, *_ in v]) for k, v in kinds.items()}
    own = middle([uss for _, _, uss in kinds["warm"]])
    peer = f"{seconds['stock']:.1f} s, stock ipyparallel"
    emit(
        [
            Row(
                f"{RANKS} ranks, request to first all_reduce, warm",
                f"{seconds['warm']:.2f} s",
                peer,
                seconds["warm"] / seconds["stock"],
                0.15,
            ),
            Row(
                f"{RANKS} ranks, the same right after a stop; limit 0.6 s",
                f"{seconds['again']:.2f} s",
                peer,
                seconds["again"] / 0.6,
                1.0,
            ),
            Row(
                f"{RANKS} ranks, request to first all_reduce, cold",
                f"{seconds['cold']:.2f} s",
                peer,
                seconds["cold"] / seconds["stock"],
                0.35,
            ),
            *(
                Row(
                    f"{RANKS} ranks, the same, {name} (for comparison)",
                    f"{seconds[name]:.2f} s",
                    peer,
                    seconds[name] / seconds["stock"],
                    None,
                )
                for name in ("torchrun", "nbdistributed", "Monarch")
                if name in seconds
            ),
            Row(
                f"{RANKS} ranks, memory (PSS) of all processes",
                f"{memory['warm'] / 2**20:.0f} MiB",
                f"{memory['stock'] / 2**20:.0f} MiB, stock ipyparallel",
                memory["warm"] / memory["stock"],
                0.4,
            ),
            Row(
                f"{RANKS} ranks, what each has of its own (USS)",
                f"{own / 2**20:.0f} MiB",
                f"limit {OWN / 2**20:.0f} MiB",
                own / OWN,
                1.0,
            ),
            Row(
                f"{RANKS} ranks, the same with a view (for comparison)",
                f"{memory['view'] / 2**20:.0f} MiB",
                f"{memory['stock'] / 2**20:.0f} MiB, stock ipyparallel",
                memory["view"] / memory["stock"],
                None,
            ),
            Row(
                f"{RANKS} ranks, a cluster's first view; limit 2 s",
                f"{seconds['view']:.2f} s",
                peer,
                seconds["view"] / 2,
                1.0,
            ),
        ]
    )


if __name__ == "__main__":
    main()
