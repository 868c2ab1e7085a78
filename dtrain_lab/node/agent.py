"""The node agent: samples ranks, collects stacks, holds the link to the head.

There is one per node, or one per rank under a launcher. The ranks come from its source (`node.sources`), and
`serve` runs the two, whatever the source.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from dtrain_lab.debugger.faulthandler import main_frames
from dtrain_lab.machine import supervision
from dtrain_lab.metrics import ring
from dtrain_lab.node.link import Link
from dtrain_lab.node.samples.devices import Devices, Use
from dtrain_lab.node.samples.host import Host
from dtrain_lab.node.samples.sampler import sample
from dtrain_lab.wire import links
from dtrain_lab.wire.processes.endpoints import Keys

IDLE_TICK_S = 1.0
"""Sampling period in seconds while all ranks are idle."""
IDLE_CPU = 0.03


@dataclass
class Process:
    """A living rank. `gpu`: its GPU, as `machine.gpus` names it; `stacks`: its threads' stacks as text."""

    rank: int
    pid: int
    ring: ring.Reader
    gpu: str | None
    stacks: Callable[[], Awaitable[str]]


class Source(Protocol):
    """Makes the ranks of a node, or attaches to those of a launcher, and detects their exits."""

    node: int
    gpus: int
    """Number of GPUs that the ranks may use."""
    tick_s: float
    """Sampling period in seconds while any rank is active."""

    def attach(self, agent: Agent) -> None:
        """Called once, when the agent is made: the source sends to the head through it."""

    async def run(self) -> int:
        """Run the source until its ranks have ended, or are no longer wanted; returns an exit code."""

    def processes(self) -> Sequence[Process]:
        """Living ranks."""

    def hello(self) -> links.Message:
        """First message to the head."""

    def obey(self, order: links.Message) -> None:
        """Handle a message from the head that the agent does not handle itself."""


class Agent:
    """The part of a node agent that does not depend on the source of its ranks.

    Args:
        source: Source of the ranks; it is attached to this agent.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._devices = Devices(source.gpus)
        self._uses: dict[int, Use] = {}
        """Last known use of each rank."""
        self._host = Host()
        self.link = Link(f"node-{source.node}", self._obey)
        supervisor = supervision.here()
        supervisor.on_failure.append(
            lambda failures: self.link.send(links.LoopFailed(node=source.node, troubles=failures))
        )
        self._samples = supervisor.start_loop("node.samples", self._measure)
        source.attach(self)

    def join(self, url: str, keys: Keys | None) -> None:
        """Connect to a head, or to the one that replaced it.

        Args:
            url: URL of the head's link.
            keys: CURVE keys, for a link over TCP.
        """
        self.link.connect(url, keys, self._source.hello())

    def ended(self, process: Process) -> None:
        """Report what a rank that has ended did since its last sample."""
        last = sample(process.rank, process.ring, self._uses.get(process.rank, Use()))
        self.link.send(links.Samples(node=self._source.node, samples=(last,), host=None))

    def close(self) -> None:
        """Stop sampling and close the link; queued messages still leave."""
        self._samples.cancel()
        self.link.close()

    def _obey(self, order: links.Message) -> None:
        if isinstance(order, links.ReadStacks):
            for process in self._source.processes():
                if process.rank in order.ranks:
                    supervision.here().once("node.task", self._send_stacks(order.id, process))
        else:
            self._source.obey(order)

    async def _send_stacks(self, number: int, process: Process) -> None:
        text = await process.stacks()
        self.link.send(links.StacksRead(rank=process.rank, id=number, frames=main_frames(text), text=text))

    async def _measure(self) -> None:
        period_s = self._source.tick_s
        while True:
            await asyncio.sleep(period_s)
            processes = self._source.processes() if self.link.connected.is_set() else ()
            if not processes:
                continue
            self._uses.update((p.rank, self._devices.use(p.pid, p.gpu)) for p in processes)
            samples = [sample(p.rank, p.ring, self._uses[p.rank]) for p in processes]
            host = self._host.use()
            self.link.send(links.Samples(node=self._source.node, samples=tuple(samples), host=host))
            moves = any(s.operation is not None or (s.cpu_utilization or 0.0) > IDLE_CPU for s in samples)
            period_s = self._source.tick_s if moves else max(IDLE_TICK_S, self._source.tick_s)


async def serve(source: Source) -> int:
    """Run a node's agent and the source of its ranks; returns the source's exit code."""
    agent = Agent(source)
    try:
        return await source.run()
    finally:
        agent.close()
