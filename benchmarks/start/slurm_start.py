"""Slurm, 2 nodes of 2 ranks: request to first all_reduce done, beside ipyparallel's own Slurm launcher.

Both on the same real Slurm, whose nodes are network namespaces of this machine; the queue is empty, so that
an allocation is granted at once. Root, Debian's Slurm and iproute2 are needed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Row, emit, middle
from tests.hosts import Hosts, running_hosts

REPEATS = int(os.environ.get("BENCH_REPEATS", "3"))
ALL_REDUCE = (
    "import torch, torch.distributed as dist\nt = torch.ones(1); dist.all_reduce(t); assert int(t) == 4"
)


def ours() -> float:
    """Seconds with dtrain-lab."""
    import dtrain_lab as dt

    began = time.perf_counter()
    with dt.start("queue", nodes=2, ranks_per_node=2) as cluster:
        cluster.run(ALL_REDUCE)
        return time.perf_counter() - began


def stock(hosts: Hosts, controller: str) -> float:
    """Seconds with `ipyparallel.Cluster(engines="slurm")` and `init_process_group` in its engines."""
    import ipyparallel as ipp

    def first_all_reduce(rank: int, master: str) -> int:
        import os
        import socket

        import psutil
        import torch
        import torch.distributed as dist

        prefix = master.rpartition(".")[0]
        names = [
            name
            for name, addresses in psutil.net_if_addrs().items()
            if any(a.family == socket.AF_INET and a.address.startswith(prefix) for a in addresses)
        ]
        os.environ.update(GLOO_SOCKET_IFNAME=names[0], MASTER_ADDR=master, MASTER_PORT="29611")
        dist.init_process_group("gloo", rank=rank, world_size=4)
        total = torch.ones(1)
        dist.all_reduce(total)
        return int(total)

    def where() -> str:
        import socket

        return socket.gethostname()

    began = time.perf_counter()
    cluster = ipp.Cluster(
        n=4, engines="slurm", controller_ip=controller, controller_location=controller, log_level=40
    )
    cluster.engine_launcher_class.batch_template = TEMPLATE
    client = cluster.start_and_connect_sync(activate=False)
    try:
        view = client[:]
        places = view.apply_sync(where)
        master = hosts.address(places[0])
        calls = [client[i].apply_async(first_all_reduce, i, master) for i in range(4)]
        assert [call.get(timeout=120) for call in calls] == [4] * 4
        return time.perf_counter() - began
    finally:
        client.close()
        cluster.stop_cluster_sync()


TEMPLATE = """#!/bin/sh
#SBATCH --export=ALL
#SBATCH --job-name=ipengine-{cluster_id}
#SBATCH --nodes=2
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=2
srun {program_and_args}
"""


def main() -> None:
    """Measure both, in turn."""
    if os.getuid() != 0 or not shutil.which("sbatch"):
        print("Slurm start: not measured; it needs root and Slurm (tests/system_packages.sh).")
        return
    root = Path(tempfile.mkdtemp())
    for name in ("CONFIG", "DATA", "RUNTIME"):
        os.environ[f"JUPYTER_{name}_DIR"] = str(root / name.lower())
    os.environ.update(IPYTHONDIR=str(root / "ipython"), DTRAIN_LAB_POLL_FLOOR_S="1")
    os.chdir(root)  # ipyparallel writes its batch file where it is
    with running_hosts(2) as hosts:
        hosts.start_slurm()
        os.environ["SLURM_CONF"] = str(hosts.slurm_conf)
        folder = root / "config" / "dtrain-lab" / "profiles"
        folder.mkdir(parents=True)
        (folder / "queue.toml").write_text(f'backend = "slurm"\nworkdir = "{root}/work"\n')
        mine, theirs = [], []
        for _ in range(REPEATS):
            mine.append(ours())
            hosts.wait_until_idle()
            theirs.append(stock(hosts, hosts.gateway))
            hosts.wait_until_idle()
    ratio = middle(mine) / middle(theirs)
    emit(
        [
            Row(
                "Slurm, 2 nodes × 2 ranks: request → first all_reduce",
                f"{middle(mine):.1f} s",
                f"{middle(theirs):.1f} s ipyparallel's Slurm launcher",
                ratio,
                0.35,
            )
        ]
    )


if __name__ == "__main__":
    main()
