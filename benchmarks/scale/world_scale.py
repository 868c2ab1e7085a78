"""A real head with 64, 256, 1,024 and 4,096 ranks that only speak: start, cells, output, figures, memory.

Nodes and ranks are `benchmarks.scale.fake_nodes`, on the same machine: what they take of its cores is in the
times.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import psutil

from benchmarks.measure import Row, emit
from dtrain_lab.machine import processes
from dtrain_lab.services.connection import ClusterConnection
from dtrain_lab.wire import VERSION, clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.links import CellOutput
from dtrain_lab.wire.plan import NodeFacts, NodePlan, Plan, Request
from dtrain_lab.wire.processes.head_record import HeadRecord

SIZES = tuple(int(n) for n in os.environ.get("BENCH_SIZES", "64,256,1024,4096").split(","))
EACH = 8
CELLS = 15
LINE, PIECE = 6, 8192
"""Bytes that each rank prints: a line, and a piece of a long output."""
WATCH_S = 8.0
CELL_LIMIT_S, SHARE_LIMIT, AT = 1.0, 0.2, 1024
"""What is promised, for so many ranks."""


def plan(size: int) -> Plan:
    """A world as a scheduler would give it."""
    nodes = tuple(NodePlan(f"gpu-{i:03}", "", i * EACH, EACH, EACH, 8) for i in range(size // EACH))
    return Plan("fake", "slurm", nodes, sys.executable, {}, "/", "cpu:gloo,cuda:nccl", True)


def start_head(folder: Path, size: int) -> subprocess.Popen[bytes]:
    """The head's own process, as a scheduler's job starts it."""
    launch = clients.Launch(plan(size), Request("fake", nodes=size // EACH), "fake", "me")
    settings: dict[str, Any] = {
        "id": secrets.token_hex(6),
        "directory": str(folder / "head"),
        "record": str(folder / "record.json"),
        "environment": "",
        "node": NodeFacts("gpu-000", "", 64, 8, 2**38),
        "remote": {
            "launch": msgspec.to_builtins(launch),
            "endpoints": str(folder / "endpoints.json"),
            "own_agent": False,
        },
    }
    (folder / "head").mkdir(mode=0o700)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dtrain_lab.head"],
        stdin=subprocess.PIPE,
        stderr=(folder / "log").open("wb"),
    )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(settings))
    process.stdin.close()
    return process


async def measure(size: int) -> dict[str, float]:
    """One world."""
    with tempfile.TemporaryDirectory(prefix="dtl") as name:
        folder = Path(name)
        head = start_head(folder, size)
        endpoints = folder / "endpoints.json"
        while not endpoints.exists():
            assert head.poll() is None, (folder / "log").read_text()
            await asyncio.sleep(0.02)
        copy = folder / "for-nodes.json"
        copy.write_bytes(endpoints.read_bytes())  # the head removes its own once all have joined
        known = psutil.Process(head.pid)
        record = HeadRecord(
            "fake",
            "fake",
            f"{folder}/head",
            time.time(),
            VERSION,
            pid=head.pid,
            started=processes.started(head.pid),
            socket=f"{folder}/head/client",
        )
        connection = ClusterConnection(record)
        await connection.open()
        began = time.perf_counter()
        nodes = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.scale.fake_nodes", str(copy), "0", str(size // EACH)]
        )
        try:
            return await _measure(connection, known, size, began)
        finally:
            nodes.kill()
            nodes.wait()
            connection.close()
            head.terminate()
            head.wait()


async def _measure(
    connection: ClusterConnection, head: psutil.Process, size: int, began: float
) -> dict[str, float]:
    while True:
        info: Cluster = await connection.ask(clients.Info())
        assert info.state != "failed", info.summary.text
        if info.state == "ready":
            break
        await asyncio.sleep(0.05)
    started = time.perf_counter() - began
    times: dict[int, list[float]] = {LINE: [], PIECE: []}
    used: list[float] = []
    for number in range(2 * CELLS):
        length = (LINE, PIECE)[number % 2]
        outputs: list[CellOutput] = []
        begun, cpu = time.perf_counter(), sum(head.cpu_times()[:2])
        order = clients.Run(secrets.token_hex(4), str(length), "[1]")
        result = await connection.run(order, outputs.append)
        times[length].append(time.perf_counter() - begun)
        if length == LINE:
            used.append(sum(head.cpu_times()[:2]) - cpu)
        assert not result.failures, result.sentence
        assert sum(len(o.text) for o in outputs) == size * length, "all output has come"
    frames: list[Cluster] = []
    connection.watch(frames.append, 0.25)
    await asyncio.sleep(2.0)
    before, seen, at = head.cpu_times(), len(frames), time.perf_counter()
    await asyncio.sleep(WATCH_S)
    after, took = head.cpu_times(), time.perf_counter() - at
    share = (after.user + after.system - before.user - before.system) / took
    assert len(frames[-1].ranks) == size
    return {
        "start": started,
        "cell": median(times[LINE]),
        "cell_cpu": sum(used) / CELLS,
        "output": median(times[PIECE]),
        "share": share,
        "frames": (len(frames) - seen) / took,
        "memory": head.memory_info().rss / 2**20,
    }


def main() -> None:
    """Measure each size: what is promised, and what a rank costs."""
    found = {}
    for size in SIZES:
        found[size] = asyncio.run(measure(size))
        print(size, {k: round(v, 3) for k, v in found[size].items()}, flush=True)
    rows = []
    for size, f in found.items():
        promised = size == AT
        rows += [
            Row(f"{size} ranks that only speak: all joined, group formed", f"{f['start']:.2f} s",
                f"{f['start'] / size * 1e3:.1f} ms a rank", f["start"], None),
            Row(f"{size} ranks: a cell of one line each, to the last reply", f"{f['cell'] * 1e3:.0f} ms",
                f"{f['cell'] / size * 1e6:.0f} µs a rank", f["cell"], CELL_LIMIT_S if promised else None),
            Row(f"{size} ranks: that cell, on the head's processor", f"{f['cell_cpu'] * 1e3:.0f} ms",
                f"{f['cell_cpu'] / size * 1e6:.0f} µs a rank", f["cell_cpu"], None),
            Row(f"{size} ranks: 8 kB from each, kept and passed on", f"{f['output'] * 1e3:.0f} ms",
                f"{size * PIECE / 1e6 / f['output']:.0f} MB/s", f["output"], None),
            Row(f"{size} ranks: figures, head, frames at {f['frames']:.1f} Hz", f"{f['share']:.1%} of a core",
                "limit 20 % at 1024", f["share"] / SHARE_LIMIT, 1.0 if promised else None),
            Row(f"{size} ranks: memory of the head", f"{f['memory']:.0f} MiB", "–", f["memory"], None),
        ]  # fmt: skip
    emit(rows)


if __name__ == "__main__":
    main()
