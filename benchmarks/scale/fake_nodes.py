"""Nodes and ranks that only speak: what a head hears of a large world, without torch and without processes.

`python -m benchmarks.scale.fake_nodes ENDPOINTS NODES EACH`: each agent and each rank has a connection of its
own (TCP and CURVE, as between real nodes), and answers as real ones do.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import zmq

from benchmarks.scale.head_scale import sample
from dtrain_lab.machine.net.curve import introduce
from dtrain_lab.wire import links
from dtrain_lab.wire.node_check import Check, Interface
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.plan import NodeFacts
from dtrain_lab.wire.processes.endpoints import Endpoints

TICK_S = 0.25
VERSIONS = {n: "1" for n in ("python", "torch", "dtrain-lab", "ipyparallel")}


class Peer:
    """A connection to the head.

    Args:
        context: ZeroMQ's.
        endpoints: of the head.
        name: of this connection.
        received: called with each frame.
    """

    def __init__(
        self, context: Any, endpoints: Endpoints, name: str, received: Callable[[bytes], None]
    ) -> None:
        self._socket = context.socket(zmq.DEALER)
        self._socket.sndhwm = self._socket.rcvhwm = 0
        self._socket.linger = 0
        self._socket.routing_id = name.encode()
        introduce(self._socket, endpoints.link[0], endpoints.keys)
        self._socket.connect(endpoints.link[0])
        self._received = received
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(int(self._socket.fd), self._drain)

    def say(self, *messages: links.Message) -> None:
        """Send them at once."""
        self._socket.send_multipart([links.encode(message) for message in messages])
        self._loop.call_soon(self._drain)  # the descriptor is edge-triggered

    def _drain(self) -> None:
        while True:
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            for frame in frames:
                self._received(frame)


class Node:
    """An agent with its ranks."""

    def __init__(self, context: Any, endpoints: Endpoints, node: int) -> None:
        self._context, self._endpoints, self._node = context, endpoints, node
        self._ranks: dict[int, Peer] = {}
        self._draw = random.Random(node)
        self._ticks: list[links.Samples] = []
        self._agent = Peer(context, endpoints, f"node-{node}", self._ordered)
        address = f"127.1.{node // 250}.{node % 250 + 1}"  # the head looks for free ports at the first
        facts = NodeFacts(f"gpu-{node:03}", address, 64, 8, 2**38)
        check = Check(
            facts, sys.executable, VERSIONS, "1", 2**34, 65536, 65536, (Interface("ib0", address, 8),)
        )
        self._agent.say(
            links.NodeHello(
                node, facts.name, os.getpid(), directory="/tmp", check=check, link=endpoints.link[0]
            ),
            links.Preloaded(node, 1.0, "2.13.0"),
        )

    def tick(self, number: int) -> None:
        """Send what an agent sends four times a second."""
        if self._ticks:
            self._agent.say(self._ticks[number % len(self._ticks)])

    def _ordered(self, frame: bytes) -> None:
        order = links.decode_to_agent(frame)
        match order:
            case links.Listen():
                self._agent.say(links.Listening(self._node, 20000))
            case links.Probe():
                self._agent.say(links.Probed(self._node))
            case links.Fork(ranks):
                for spec in ranks:
                    self._make(spec.rank)
                self._ticks = [self._samples(100 + step) for step in range(8)]
            case links.LeaveWorld():
                asyncio.get_running_loop().stop()

    def _samples(self, step: int) -> links.Samples:
        ranks = tuple(sample(rank, step, self._draw) for rank in self._ranks)
        return links.Samples(self._node, ranks, HostUse(64, self._draw.random(), 1e9, 1e9))

    def _make(self, rank: int) -> None:
        pid = 100_000 + rank
        self._agent.say(links.Forked(rank, pid))
        peer = Peer(self._context, self._endpoints, f"rank-{rank}", lambda frame: self._rank(rank, frame))
        self._ranks[rank] = peer
        peer.say(links.RankHello(rank, pid))

    def _rank(self, rank: int, frame: bytes) -> None:
        order = links.decode_to_rank(frame)
        match order:
            case links.FormGroup():
                self._ranks[rank].say(links.GroupFormed(rank, order.generation))
            case links.Execute(cell, code):
                text = "x" * int(code)
                through = len(text)
                output = links.CellOutput(cell, rank, "stdout", text, through=through)
                self._ranks[rank].say(output, links.CellReply(cell, rank))


async def serve(endpoints: Endpoints, first: int, nodes: int) -> None:
    """Be these nodes until the head lets them go."""
    context: zmq.Context[Any] = zmq.Context(2)
    context.set(zmq.MAX_SOCKETS, 16384)
    made = [Node(context, endpoints, node) for node in range(first, first + nodes)]
    number = 0
    while True:
        await asyncio.sleep(TICK_S)
        number += 1
        for node in made:
            node.tick(number)


def main() -> None:
    """Entry point."""
    endpoints = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Endpoints)
    try:
        asyncio.run(serve(endpoints, int(sys.argv[2]), int(sys.argv[3])))
    except RuntimeError:  # the loop was stopped: all is over
        pass


if __name__ == "__main__":
    main()
