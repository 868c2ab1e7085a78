"""What people step ranks with today: pdb on one (torch.distributed.breakpoint), and Monarch's debugger."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.measure import PYTHON
from benchmarks.start import start_peers

PROMPT = b"(Pdb) "
SCRIPT = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
x = torch.ones(2)
dist.breakpoint(rank=0)
for i in range(1000):
    dist.all_reduce(x)
    i += 1
"""
REDUCES = "dist.all_reduce(x)"
MONARCH = """
import os, socket, threading, time
from statistics import median
from monarch.actor import Actor, current_rank, endpoint, this_host

class Train(Actor):
    @endpoint
    def run(self):
        import os, torch, torch.distributed as dist
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="{port}", GLOO_SOCKET_IFNAME="lo")
        dist.init_process_group("gloo", rank=current_rank().rank, world_size={ranks})
        x = torch.ones(2)
        breakpoint()
        for i in range(1000):
            dist.all_reduce(x)
            i += 1

def drive():
    while True:
        try:
            link = socket.create_connection(("localhost", int(os.environ["MONARCH_DEBUG_SERVER_PORT"])))
            break
        except OSError:
            time.sleep(0.1)
    def told():
        text = b""
        while b"monarch_dbg> " not in text:
            text += link.recv(65536)
        return text
    told()
    while True:  # all ranks have to be there
        link.sendall(b"list\\n")
        if told().count(b"train") >= {ranks}:
            break
        time.sleep(0.1)
    taken = []
    for turn in range({steps}):  # the three lines of the loop in turn
        began = time.perf_counter()
        link.sendall(b"cast train ranks(0:{ranks}) next\\n")
        told()
        taken.append(time.perf_counter() - began)
    print("SECONDS", median(taken), flush=True)
    os._exit(0)

processes = this_host().spawn_procs(per_host={{"gpus": {ranks}}})
train = processes.spawn("train", Train)
threading.Thread(target=drive, daemon=True).start()
train.run.call().get()
"""


def monarch_step(ranks: int, steps: int = 40) -> float | None:
    """Seconds of a `next` that Monarch's debugger casts to all ranks, the median; None where it is missing.

    Args:
        ranks: of the group.
        steps: how many to take.
    """
    if not start_peers.available():
        return None
    with socket.socket() as one, socket.socket() as two:
        for probe in (one, two):
            probe.bind(("127.0.0.1", 0))
        port, server = (probe.getsockname()[1] for probe in (one, two))
    os.environ["MONARCH_DEBUG_SERVER_PORT"] = str(server)
    try:
        return start_peers.run(MONARCH.format(ranks=ranks, port=port, steps=steps))
    finally:
        del os.environ["MONARCH_DEBUG_SERVER_PORT"]


def torch_breakpoint(ranks: int, steps: int = 40) -> float:
    """Seconds of pdb's `next` over all_reduce on rank 0, the median; the other ranks run free.

    Args:
        ranks: of the group.
        steps: how many to take.

    Raises:
        RuntimeError: pdb's prompt does not come.
    """
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        script = Path(folder) / "stepped.py"
        script.write_text(SCRIPT)
        usual = {
            **os.environ,
            "GLOO_SOCKET_IFNAME": "lo",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(probe.getsockname()[1]),
            "WORLD_SIZE": str(ranks),
        }
        probe.close()
        started = [
            subprocess.Popen(
                [PYTHON, str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**usual, "RANK": str(rank)},
            )
            for rank in range(ranks)
        ]
        try:
            return _steps(started[0], steps)
        finally:
            for process in started:
                process.kill()
                process.communicate()


def _steps(first: subprocess.Popen[bytes], steps: int) -> float:
    shown = _until_prompt(first)
    while REDUCES not in shown:  # from inside torch's own function to the user's line
        shown = _say(first, b"next\n")
    taken: list[float] = []
    while len(taken) < steps:
        at_reduce = REDUCES in shown
        began = time.perf_counter()
        shown = _say(first, b"next\n")
        if at_reduce:
            taken.append(time.perf_counter() - began)
    return median(taken)


def _say(process: subprocess.Popen[bytes], command: bytes) -> str:
    assert process.stdin is not None
    process.stdin.write(command)
    process.stdin.flush()
    return _until_prompt(process)


def _until_prompt(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    shown = b""
    while not shown.endswith(PROMPT):
        piece = os.read(process.stdout.fileno(), 1 << 16)
        if not piece:
            raise RuntimeError(f"pdb ended: {shown[-500:].decode(errors='replace')}")
        shown += piece
    return shown.decode(errors="replace")
