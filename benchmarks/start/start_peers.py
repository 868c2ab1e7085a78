"""nbdistributed and Monarch from nothing to the end of their first all_reduce, for comparison.

They live in a venv of their own beside the product's (`make bench` makes it); where that venv is missing,
there is no row. nbdistributed's own shutdown commands end processes by broad name, so none of them is ever
called here: what it started is a child of this script's child, and ended by pid.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks.measure import ROOT

PEERS = Path(os.environ.get("BENCH_PEERS", str(ROOT / ".venv" / "peers"))) / "bin" / "python"

NBDISTRIBUTED = """
import os, time
began = time.time()
import psutil
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
try:
    shell.run_line_magic("load_ext", "nbdistributed")
    shell.run_line_magic("dist_init", "-n {ranks}")
    # it says that it is ready after 2 s whatever its workers do, and what is sent before they connect is lost
    from nbdistributed.magic import DistributedMagic
    magics = next(m for m in shell.magics_manager.registry.values() if isinstance(m, DistributedMagic))
    port = magics._process_manager.comm_port
    workers = psutil.Process().children()
    while not all(any(c.raddr and c.raddr.port == port for c in w.net_connections()) for w in workers):
        time.sleep(0.02)
    cell = "import torch\\nt = torch.ones(1)\\ntorch.distributed.all_reduce(t)\\nprint('SUM', t.item())"
    shell.run_cell("%%distributed\\n" + cell)
    print("SECONDS", time.time() - began, flush=True)
except Exception:
    import traceback
    traceback.print_exc()
finally:
    left = psutil.Process().children(recursive=True)
    for process in left:
        process.kill()
    psutil.wait_procs(left, timeout=10)
    os._exit(0)  # without its own clean-up
"""

MONARCH = """
import time
began = time.time()
from monarch.actor import Actor, current_rank, endpoint, this_host

class Sum(Actor):
    @endpoint
    def run(self):
        import os, torch, torch.distributed as dist
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="{port}", GLOO_SOCKET_IFNAME="lo")
        dist.init_process_group("gloo", rank=current_rank().rank, world_size={ranks})
        t = torch.ones(1)
        dist.all_reduce(t)
        return t.item()

processes = this_host().spawn_procs(per_host={{"gpus": {ranks}}})
sums = processes.spawn("sum", Sum).run.call().get()
assert all(value == {ranks} for _, value in sums.items()), sums
print("SECONDS", time.time() - began, flush=True)
processes.stop().get()
"""


def available() -> bool:
    """The peers' venv is there."""
    return PEERS.exists()


def nbdistributed(ranks: int) -> float:
    """Seconds of nbdistributed."""
    return run(NBDISTRIBUTED.format(ranks=ranks), "SUM")


def monarch(ranks: int, port: int) -> float:
    """Seconds of Monarch; `port` is for the process group that its actors form."""
    return run(MONARCH.format(ranks=ranks, port=port))


def run(script: str, needed: str = "") -> float:
    """Run a peer's script from a file (its workers import it) and read the seconds that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "peer.py"
        path.write_text(script)
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
        # nbdistributed's workers are whatever "python" is first on the path
        environment["PATH"] = f"{PEERS.parent}:{environment['PATH']}"
        words = [str(PEERS), str(path)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=90, env=environment)
    found = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("SECONDS ")]
    if not found or needed not in done.stdout:
        raise RuntimeError(
            f"the peer did not get to its all_reduce:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return float(found[0])
