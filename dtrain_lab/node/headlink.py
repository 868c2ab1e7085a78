"""The way from an agent that keeps a job's ranks to the job's head; optional, quiet where there is none."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import zmq
import zmq.asyncio

from dtrain_lab.core import jobfiles
from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.core.estimate import ring
from dtrain_lab.core.stacks import main_frames
from dtrain_lab.core.wire import links
from dtrain_lab.machine import first_reachable, gpus
from dtrain_lab.machine.curve import introduce
from dtrain_lab.node.devices import Devices
from dtrain_lab.node.host import Host
from dtrain_lab.node.sampler import sample
from dtrain_lab.rank.jobdebug import HEADER

if TYPE_CHECKING:
    from dtrain_lab.node.attached import Attached, Kept

TICK_S = 1.0
LOOK_S = 0.3
SILENT_S = 20.0
"""A head that is asked every second and says nothing for so long is gone."""


class HeadLink:
    """Tells the head of the ranks, and answers what it asks.

    Args:
        agent: whose ranks these are.
    """

    def __init__(self, agent: Attached) -> None:
        self._agent = agent
        self._socket: Any = None
        self._ended: list[links.Exited] = []
        """Before there was a way to the head."""
        self.connected = asyncio.Event()
        """The head will hear what was said so far."""
        self._context = zmq.asyncio.Context()
        self._devices = Devices(len(gpus.usable()))
        self._host = Host()
        self._rings = {
            kept.rank: ring.Reader(memoryview(mmap.mmap(kept.metrics, ring.BYTES, prot=mmap.PROT_READ)))
            for kept in agent.kept
        }
        self._gpus = gpus.usable()
        self._heard = 0.0
        """When the head last said how the attempt stands."""
        self._over = asyncio.Event()
        """It has said that it is; or that it can't know."""

    async def run(self) -> None:
        """Find the head, and serve it for as long as the ranks live."""
        endpoints = await self._found()
        url = await _way(endpoints)
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.linger = 300
        self._socket.routing_id = f"attached-{self._agent.node}-{os.getpid()}".encode()
        if not url.startswith("ipc://"):
            introduce(self._socket, url, endpoints.keys)
        self._socket.connect(url)
        self._say(
            links.Attached(
                node=self._agent.node,
                name=socket.gethostname().split(".")[0],
                ranks=tuple((kept.rank, kept.local_rank, kept.pid) for kept in self._agent.kept),
                restart=self._agent.attempt,
            )
        )
        for message in self._ended:
            self._say(message)
        self.connected.set()
        await asyncio.gather(
            self._measure(), self._obey(), *(self._pass_on(kept) for kept in self._agent.kept)
        )

    def ended(self, kept: Kept, code: int) -> None:
        """A rank has ended."""
        message = links.Exited(key=kept.rank, pid=kept.pid, code=code)
        if self.connected.is_set():
            self._say(message)
        else:
            self._ended.append(message)

    async def others_end(self, within_s: float) -> None:
        """Wait until ranks elsewhere have ended, too, or nobody can say.

        Args:
            within_s: until there is a way to the head.
        """
        try:
            async with asyncio.timeout(within_s):
                await self.connected.wait()
        except TimeoutError:
            return
        self._heard = time.monotonic()
        while not self._over.is_set() and time.monotonic() - self._heard < SILENT_S:
            self._say(links.AskEnd(self._agent.attempt))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._over.wait()

    def close(self) -> None:
        """What was said still leaves."""
        if self._socket is not None:
            self._socket.close()
        self._context.term()

    async def _found(self) -> Endpoints:
        path = self._agent.folder / jobfiles.ENDPOINTS
        while True:
            try:
                return msgspec.json.decode(path.read_bytes(), type=Endpoints)
            except (FileNotFoundError, msgspec.DecodeError):
                await asyncio.sleep(LOOK_S)

    async def _measure(self) -> None:
        while True:
            samples = []
            for kept in self._agent.kept:
                gpu = self._gpus[kept.local_rank % len(self._gpus)] if self._gpus else None
                samples.append(sample(kept.rank, self._rings[kept.rank], self._devices.use(kept.pid, gpu)))
            host = self._host.use()
            self._say(links.Samples(node=self._agent.node, samples=tuple(samples), host=host))
            await asyncio.sleep(TICK_S)

    async def _obey(self) -> None:
        while True:
            for frame in await self._socket.recv_multipart():
                match links.decode_to_attached(frame):
                    case links.AskWhere(number, _):
                        for kept in self._agent.kept:
                            text = await self._agent.stacks(kept)
                            self._say(
                                links.Here(rank=kept.rank, id=number, frames=main_frames(text), text=text)
                            )
                    case links.Debug() as order:
                        await self._debug(order)
                    case links.Leave():
                        self._agent.end_with_peers()
                    case links.Attempt(restart, stand) if restart == self._agent.attempt:
                        self._heard = time.monotonic()
                        if stand == "failed":
                            self._agent.end_with_peers()
                        if stand != "runs":
                            self._over.set()

    async def _debug(self, order: links.Debug) -> None:
        """To a rank's debugger."""
        kept = next((k for k in self._agent.kept if k.rank == order.rank), None)
        if kept is not None:
            data = links.encode(order)
            loop = asyncio.get_running_loop()
            try:
                await loop.sock_sendall(kept.debugger, HEADER.pack(len(data)) + data)
            except OSError:  # it has just ended, which the head will hear
                return

    async def _pass_on(self, kept: Kept) -> None:
        """From a rank's debugger to the head."""
        kept.debugger.setblocking(False)
        reader, _ = await asyncio.open_connection(sock=kept.debugger.dup())
        try:
            while True:
                (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
                self._say(links.decode_from_attached_rank(await reader.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError):  # the rank has ended
            return

    def _say(self, message: links.Message) -> None:
        if self._socket is not None and not self._socket.closed:
            self._socket.send(links.encode(message))


async def _way(endpoints: Endpoints) -> str:
    """The head's unix socket where it is on this node, else an address that answers."""
    path = Path(endpoints.directory) / "link"
    while True:
        if endpoints.host == socket.gethostname() and path.exists():
            return f"ipc://{path}"
        found = await first_reachable(endpoints.link)
        if found is not None:
            return found
        await asyncio.sleep(LOOK_S)
