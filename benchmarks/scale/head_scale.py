"""What 1,024 training ranks cost their head: 128 agents send samples four times a second, one page watches.

The socket, the wire, the verdicts, the history and the frames are the head's own; agents are a process that
sends what agents send, and the world is one that has begun a cell.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import zmq

from benchmarks.measure import Row, emit
from dtrain_lab.head.app import Head
from dtrain_lab.head.listen import ListenSettings
from dtrain_lab.head.ownership.rank_ownership import Parts, StackReader
from dtrain_lab.head.requests import Handlers, Ordered
from dtrain_lab.head.sockets import Router
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.cells import RunningCell
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Epoch
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.processes.endpoints import Keys
from dtrain_lab.wire.stacks import Frame, Where
from dtrain_lab.world import Member, Members, State

NODES, EACH = 128, 8
TICK_S = 0.25
SECONDS = float(os.environ.get("BENCH_SECONDS", "20"))
NAMES = [f"gpu-{index:03}" for index in range(NODES)]


def sample(rank: int, step: int, draw: random.Random) -> links.RankSample:
    """A rank in the middle of training: every figure that one can have, with all its digits."""
    own = 0.12 + draw.random() / 100
    return links.RankSample(
        rank=rank,
        step=step,
        steps_per_s=5 + draw.random(),
        samples_per_s=160 + draw.random(),
        tokens_per_s=80_000 + draw.random(),
        step_s=0.2 + draw.random() / 1000,
        data_s=draw.random() / 1000,
        compute_s=own,
        optimizer_s=0.01 + draw.random() / 1000,
        exposed_s=0.05 + draw.random() / 100,
        exposed_error_s=0.001,
        synced=True,
        typical_own_s=own,
        epoch=Epoch(1, step, 10_000),
        operation="all_reduce" if draw.random() < 0.3 else None,
        sequence=step * 3,
        in_operation_s=0.01,
        doing="backward",
        beat_s=draw.random() / 100,
        cpu_utilization=draw.random(),
        memory_bytes=2**31 + step,
        device_memory_bytes=2**35 + rank,
        device_memory_total_bytes=80 * 2**30,
        device_utilization=draw.random(),
    )


def agents(url: str) -> None:
    """Send as all agents do, until the parent ends this process."""
    draw = random.Random(0)
    context = zmq.Context()
    sockets = []
    for node in range(NODES):
        socket = context.socket(zmq.DEALER)
        socket.identity = f"node-{node}".encode()
        socket.connect(url)
        sockets.append(socket)
    began, number = time.monotonic(), 0
    while True:
        # new ones each time: ranks train only while their numbers of steps grow
        frames = [
            links.encode(
                links.Samples(
                    node,
                    tuple(sample(node * EACH + local, 100 + number, draw) for local in range(EACH)),
                    HostUse(64, draw.random(), 1e9 * draw.random(), 1e9 * draw.random()),
                )
            )
            for node in range(NODES)
        ]
        for socket, frame in zip(sockets, frames, strict=True):
            socket.send(frame)
        number += 1
        time.sleep(max(0.0, began + number * TICK_S - time.monotonic()))


def world() -> tuple[Plan, State, RunningCell]:
    """A world whose ranks all run one cell."""
    size = NODES * EACH
    plan = Plan(
        "slurm", "slurm", tuple(NodePlan(n, n, i * EACH, EACH, EACH, 8) for i, n in enumerate(NAMES)),
        sys.executable, {}, "/", "cpu:gloo,cuda:nccl", True,
    )  # fmt: skip
    members = Members(
        Member(r, pid=1000 + r, joined=True, generation=0, cell="a", last="a") for r in range(size)
    )
    state = State("ready", members=members, nodes=NODES, ready_nodes=frozenset(range(NODES)))
    return plan, state, RunningCell("3", "train.ipynb", tuple(range(size)), time.time())


class Training:
    """The policy of a world that has begun a cell and makes steps; it owns nothing."""

    tick_s = TICK_S
    point_s = 1.0
    idle_point_s: float | None = None
    stack_readers: tuple[StackReader, ...] = ()
    listens: ListenSettings | None = None
    handlers: Handlers = {}
    ordered: Ordered = {}

    def __init__(self, parts: Parts) -> None:
        self._snapshot = parts.snapshot
        parts.collector.plan, self.state, self._running = world()
        where = Where(self._running.notebook, self._running.cell)
        parts.collector.cell_began(self._running.ranks, "train()", where)
        self.received_messages = 0

    def cluster(self) -> Cluster:
        return self._snapshot.cluster(self.state, (self._running,), ("train.ipynb",))

    def received(self, peer: bytes, message: links.Message, frame: bytes) -> None:
        assert isinstance(message, links.Samples)
        self.received_messages += 1

    def locate(self, rank: int, frame: Frame) -> tuple[str | None, str | None]:
        return None, None

    def tick(self, stuck: Verdict | None) -> None:
        pass

    def record_point(self, point: Point) -> None:
        pass

    def client_active(self) -> None:
        pass

    async def run(self, keys: Keys | None) -> None:
        pass


async def head(folder: str) -> dict[str, float]:
    """Be the head; the share of a core that it took."""
    told: list[int] = []
    worlds: list[Training] = []

    def policy(parts: Parts) -> Training:
        worlds.append(Training(parts))
        return worlds[0]

    def send(client: bytes, frames: list[bytes]) -> str:
        told.append(sum(map(len, frames)))
        return "sent"

    made = Head("a", Path(folder), policy)
    context: zmq.Context[Any] = zmq.Context()
    router = Router(context, f"{folder}/link", made._from_link, made._flush)
    made._link, made._client = router, cast(Router, SimpleNamespace(send=send))
    sender = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.scale.head_scale", router.url], stdout=subprocess.PIPE, text=True
    )
    watch = asyncio.create_task(made._watch())
    try:
        while not made._history.since(0.0):  # a point is kept only of ranks that train
            await asyncio.sleep(0.1)
        before, frames, messages = time.process_time(), len(told), worlds[0].received_messages
        began = asked = time.monotonic()
        while time.monotonic() - began < SECONDS:
            if time.monotonic() - asked > 5 or asked == began:
                asked = time.monotonic()
                await made._watchers.watch(b"page", clients.Watch(TICK_S))
            await asyncio.sleep(1)
        took = time.monotonic() - began
        return {
            "share": (time.process_time() - before) / took,
            "frames": (len(told) - frames) / took,
            "messages": (worlds[0].received_messages - messages) / took,
            "bytes": told[-1],
            "points": len(made._history.since(0.0)),
        }
    finally:
        watch.cancel()
        sender.kill()
        sender.wait()
        router.close()
        context.term()


def main() -> None:
    """Measure it."""
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(head(folder))
    assert found["messages"] > 0.9 * NODES / TICK_S, found
    assert found["points"] > 0.8 * SECONDS, found
    print({k: round(v, 3) for k, v in found.items()})
    share = found["share"]
    emit(
        [
            Row(
                f"head of {NODES * EACH} ranks, samples and frames at {found['frames']:.1f} Hz",
                f"{share:.1%} of a core", "limit 20 %", share / 0.2, 1.0,
            )
        ]
    )  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) > 1:
        agents(sys.argv[1])
    else:
        main()
