"""Source of a job's ranks, as the node agent and, through it, the job's head see them.

`spawn.JobRanks` runs the ranks, which need no head. A head may die and be replaced: when the endpoints file
changes, the ranks are reported to the new head.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import mmap
import socket
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from dtrain_lab.debugger.faulthandler import ASK_SIGNAL, STACKS_SIGNAL, without_writer
from dtrain_lab.errors import WireMismatch
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import gpus, processes, supervision
from dtrain_lab.machine.net.framing import framed, messages
from dtrain_lab.metrics import ring
from dtrain_lab.node.agent import Agent, Process
from dtrain_lab.node.link import head_url
from dtrain_lab.node.sources.spawn import Head
from dtrain_lab.node.sources.spawned_rank import SpawnedRank
from dtrain_lab.node.stacks.stacks import ask
from dtrain_lab.placement.devices import device_of
from dtrain_lab.wire import links
from dtrain_lab.wire.processes.endpoints import Endpoints, decode

log = logging.getLogger("dtrain_lab.node")
ASK_S = 1.0
POLL_S = 0.3
SILENT_S = 20.0
"""A head that is asked every second and silent for this many seconds is gone."""
ASKED_WITHIN_S = 0.4
"""Seconds; a rank that runs Python writes its stacks at once."""
STACKS_WITHIN_S = 2.0
"""Seconds; for a rank in C code, whose stacks are written as soon as its node has the time."""


class Ranks(Protocol):
    """The job's ranks on this node: reported to the head, which may end them."""

    folder: Path
    node: int
    attempt: int
    children: list[SpawnedRank]

    async def run(self, head: Head) -> int:
        """Run the ranks to their end, and tell the head; returns an exit code."""

    def end_with_peers(self) -> None:
        """End the ranks, because a peer on another node failed."""


class SpawnedRanksSource:
    """Reports a job's ranks to its head, and handles the head's messages.

    Implements `agent.Source`, and `spawn.Head` for the ranks.

    Args:
        ranks: The ranks, which have been started.
    """

    tick_s = 1.0
    _agent: Agent

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self.node = ranks.node
        visible = gpus.usable()
        self.gpus = len(visible)
        self._processes = {
            child.rank: Process(
                child.rank,
                child.pid,
                ring.Reader(memoryview(mmap.mmap(child.metrics, ring.BYTES, prot=mmap.PROT_READ))),
                device_of(child.local_rank, visible),
                partial(_stacks, child.pid, child.began, child.stacks),
            )
            for child in ranks.children
        }
        self._ended: list[links.Exited] = []
        self.heard_at = 0.0
        """When the head last reported the state of the attempt, in monotonic seconds; 0 before."""
        self._debugged: set[int] = set()
        """Ranks whose debugger a client may hold, through the head."""
        self._over = asyncio.Event()
        """Set once the head has reported the end of the attempt, or that it can't know it."""
        self.attempt_state: links.AttemptState | None = None
        """The head's latest report on this attempt."""

    def attach(self, agent: Agent) -> None:
        """Send to the head through this agent."""
        self._agent = agent
        self.connected = agent.link.connected

    async def run(self) -> int:
        """Run the ranks to their end, in contact with their head; returns their exit code."""
        supervisor = supervision.here()
        supervisor.start_loop("node.head", self._follow_head)
        for child in self._ranks.children:
            supervisor.start_loop("node.debugger", partial(self._pass_on, child))
        return await self._ranks.run(self)

    async def _follow_head(self) -> None:
        """Connect to the head, and to any that replaces it."""
        joined: Endpoints | None = None
        is_visible = False
        path = self._ranks.folder / job_files.ENDPOINTS
        while True:
            with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
                endpoints = decode(path.read_bytes())
                url = await head_url(endpoints) if endpoints != joined else None
                if url is not None:
                    joined = endpoints
                    # on another host, its pid says nothing
                    is_visible = joined.host == socket.gethostname() and _lives(joined)
                    self._agent.join(url, None if url.startswith("ipc://") else endpoints.keys)
                    for message in self._ended:
                        self._agent.link.send(message)
            if joined is not None and is_visible and self._debugged and not _lives(joined):
                await self._release_debugged()
            await asyncio.sleep(POLL_S)

    async def _release_debugged(self) -> None:
        """Detach the ranks' debuggers: with the head, nobody could make a paused rank go on."""
        ranks, self._debugged = sorted(self._debugged), set()
        log.warning("the head has ended: the debugger leaves ranks %s", ranks)
        for rank in ranks:
            await self._debug(links.DebugRequest(rank=rank, id=0, command="detach", arguments=b"{}"))

    def processes(self) -> Sequence[Process]:
        """Living ranks."""
        return tuple(self._processes.values())

    def hello(self) -> links.RanksLaunched:
        """Describe the ranks of this agent."""
        return links.RanksLaunched(
            node=self.node,
            name=socket.gethostname().split(".")[0],
            ranks=tuple((child.rank, child.local_rank, child.pid) for child in self._ranks.children),
            attempt=self._ranks.attempt,
        )

    def ended(self, child: SpawnedRank, code: int) -> None:
        """Report the exit of a rank.

        Args:
            child: The rank.
            code: Exit code; negative is the number of the signal that ended it.
        """
        process = self._processes.pop(child.rank, None)
        self._ended.append(links.Exited(key=child.rank, pid=child.pid, code=code))
        if self.connected.is_set():
            if process is not None:
                self._agent.ended(process)
            self._agent.link.send(self._ended[-1])

    async def others_end(self, within_s: float) -> None:
        """Wait until the ranks of other nodes have ended, too, or the head is gone or can't know it.

        An attempt counts as ended once a rank has failed: the head knows that by then, and ends the others.
        A repeated call after "unknown" asks again.

        Args:
            within_s: Seconds to wait for a connection to the head.
        """
        try:
            async with asyncio.timeout(within_s):
                await self.connected.wait()
        except TimeoutError:
            return
        began = time.monotonic()
        if self.attempt_state == "unknown":
            self._over.clear()
        while not self._over.is_set() and time.monotonic() - max(began, self.heard_at) < SILENT_S:
            self._agent.link.send(links.AskEnd(self._ranks.attempt))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ASK_S):
                    await self._over.wait()

    def obey(self, order: links.Message) -> None:
        """Handle a message of the head: debug requests, and the state of the attempt on other nodes."""
        match order:
            case links.DebugRequest(command=command, rank=rank):
                if command == "attach":
                    self._debugged.add(rank)
                elif command == "detach":
                    self._debugged.discard(rank)
                supervision.here().once("node.task", self._debug(order))
            case links.LeaveWorld():
                self._over.set()
                self._ranks.end_with_peers()
            case links.Attempt(attempt, state) if attempt == self._ranks.attempt:
                self.heard_at = time.monotonic()
                self.attempt_state = state
                if state == "failed":
                    self._ranks.end_with_peers()
                if state != "runs":
                    self._over.set()

    async def _debug(self, order: links.DebugRequest) -> None:
        """Forward a request to a rank's debugger."""
        child = next((k for k in self._ranks.children if k.rank == order.rank), None)
        if child is not None:
            loop = asyncio.get_running_loop()
            with contextlib.suppress(OSError):  # the rank has just ended, which is reported to the head
                await loop.sock_sendall(child.debugger, framed(links.encode(order)))

    async def _pass_on(self, child: SpawnedRank) -> None:
        """Forward messages of a rank's debugger to the head."""
        child.debugger.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=child.debugger.dup())
        with contextlib.closing(writer):
            async for data in messages(reader):  # until the rank has ended
                try:
                    self._agent.link.send(links.decode_from_job_rank(data))
                except WireMismatch as error:
                    log.warning("dropped %s bytes of rank %s: %s", len(data), child.rank, error.message)


def _lives(head: Endpoints) -> bool:
    """Whether the process of a head on this host runs."""
    return processes.same(head.pid, head.started) is not None


async def _stacks(pid: int, began: float, file: int) -> str:
    """Stacks of all threads of a rank.

    faulthandler reads frames without the GIL, and can crash a process whose main thread runs Python at the
    same time. So the rank is first asked to write them itself; a rank that does not is in C code, where its
    frames don't change.
    """
    text = await ask(pid, began, file, (ASK_SIGNAL, ASKED_WITHIN_S), (STACKS_SIGNAL, STACKS_WITHIN_S))
    return "This rank is starting." if text is None else without_writer(text)
