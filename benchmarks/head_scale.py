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
from types import SimpleNamespace
from typing import Any, cast

import zmq

from benchmarks.measure import Row, emit
from dtrain_lab.core.cluster import Cluster, Epoch, HostUse, RunningCell
from dtrain_lab.core.plan import NodePlan, Plan
from dtrain_lab.core.wire import doors, links
from dtrain_lab.core.world import Member, Members, State
from dtrain_lab.head.aggregate import Aggregate
from dtrain_lab.head.desk import Desk
from dtrain_lab.head.main import Head
from dtrain_lab.head.sockets import Router

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
    ticks = [
        [
            links.encode(
                links.Samples(
                    node,
                    tuple(sample(node * EACH + local, 100 + tick, draw) for local in range(EACH)),
                    HostUse(64, draw.random(), 1e9 * draw.random(), 1e9 * draw.random()),
                )
            )
            for node in range(NODES)
        ]
        for tick in range(8)
    ]
    print("ready", flush=True)
    began, number = time.monotonic(), 0
    while True:
        for socket, frame in zip(sockets, ticks[number % len(ticks)], strict=True):
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
    members = Members(Member(r, pid=1000 + r, joined=True, generation=0, cell="a") for r in range(size))
    state = State("ready", members=members, nodes=NODES, ready_nodes=frozenset(range(NODES)))
    return plan, state, RunningCell("3", "train.ipynb", tuple(range(size)), time.time())


async def head(folder: str) -> dict[str, float]:
    """Be the head; the share of a core that it took."""
    aggregate = Aggregate("a")
    aggregate.plan, state, running = world()
    told: list[int] = []
    received: list[int] = []

    def cluster() -> Cluster:
        return aggregate.cluster(state, (running,), ("train.ipynb",))

    def from_link(_: bytes, frame: bytes) -> None:
        message = links.decode_to_head(frame)
        assert isinstance(message, links.Samples)
        aggregate.sampled(message.samples, message.node, message.host)
        received.append(message.node)

    around = SimpleNamespace(
        aggregate=aggregate,
        membership=SimpleNamespace(state=state),
        nodes=SimpleNamespace(look=lambda: None),
        relay=SimpleNamespace(look=lambda: None, ask=None),
        cells=SimpleNamespace(running=(running,)),
        idle_left_s=None,
        cluster=cluster,
        act_on=lambda verdict: None,
        ask_where=lambda *a, **k: None,
        ask_stacks=lambda *a: None,
        outlets=SimpleNamespace(takes=lambda door: True, say=lambda door, frame: told.append(len(frame))),
    )
    desk = Desk(cast(Head, around))
    context: zmq.Context[Any] = zmq.Context()
    router = Router(context, f"{folder}/link", from_link, lambda: None)
    sender = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.head_scale", router.url], stdout=subprocess.PIPE, text=True
    )
    watch = asyncio.create_task(desk.watch())
    try:
        while len(aggregate.samples()) < state.size:
            await asyncio.sleep(0.1)
        before, frames, messages = time.process_time(), len(told), len(received)
        began = asked = time.monotonic()
        while time.monotonic() - began < SECONDS:
            if time.monotonic() - asked > 5 or asked == began:
                asked = time.monotonic()
                await desk._watch(b"page", doors.Watch(TICK_S))
            await asyncio.sleep(1)
        took = time.monotonic() - began
        return {
            "share": (time.process_time() - before) / took,
            "frames": (len(told) - frames) / took,
            "messages": (len(received) - messages) / took,
            "bytes": told[-1],
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
