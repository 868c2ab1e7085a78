"""The node agent's process: link, fork server, samples."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import msgspec
import zmq
import zmq.asyncio

from dtrain_lab.core.wire import links
from dtrain_lab.node import forkserver
from dtrain_lab.node.devices import Devices
from dtrain_lab.node.forks import Forks
from dtrain_lab.node.sampler import sample

TICK_S = 0.25


class Settings(msgspec.Struct, frozen=True):
    """What starts an agent; read as JSON from stdin, so that nothing of it shows in a process list."""

    node: int
    name: str
    link: str
    directory: str
    gpus: int = 0
    variables: dict[str, str] = {}
    lifeline: int | None = None
    """Descriptor whose end of file means that the head is gone."""


class Agent:
    """One node of a world."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pids: dict[int, int] = {}
        self._specs: dict[int, links.RankSpec] = {}
        self._devices = Devices(settings.gpus)
        self._forks = Forks(settings.variables, self._heard, self._server_gone)
        self._done = asyncio.Event()
        self._socket: Any = None

    async def run(self) -> None:
        """Serve the head until it says so, or is gone."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._done.set)
        if self._settings.lifeline is not None:
            loop.add_reader(self._settings.lifeline, self._done.set)
        context = zmq.asyncio.Context()
        self._socket = context.socket(zmq.DEALER)
        self._socket.linger = 500
        self._socket.sndhwm = self._socket.rcvhwm = 0
        self._socket.connect(self._settings.link)
        self._say(links.NodeHello(node=self._settings.node, name=self._settings.name, pid=os.getpid()))
        self._forks.start(os.path.join(self._settings.directory, f"forks.{self._settings.node}.log"))
        tasks = [asyncio.create_task(self._obey()), asyncio.create_task(self._measure())]
        try:
            await self._done.wait()
        finally:
            for task in tasks:
                task.cancel()
            self._forks.end()
            self._socket.close()
            context.term()

    def _say(self, message: links.Message) -> None:
        if not self._socket.closed:
            self._socket.send(links.encode(message))

    async def _obey(self) -> None:
        while True:
            for frame in await self._socket.recv_multipart():
                match links.decode_to_agent(frame):
                    case links.Fork(ranks):
                        for spec in ranks:
                            self._specs[spec.rank] = spec
                            self._forks.fork(spec)
                    case links.ForkController() as order:
                        self._forks.fork_controller(order)
                    case links.Signal(keys, number):
                        self._forks.signal(keys, number)
                    case links.Leave():
                        self._done.set()

    def _heard(self, news: forkserver.News) -> None:
        match news:
            case forkserver.Loaded(seconds, torch, error):
                self._say(
                    links.Preloaded(
                        node=self._settings.node,
                        seconds=seconds,
                        torch=torch,
                        error=error,
                        hint=_import_hint(error),
                    )
                )
            case forkserver.Born(key, pid):
                if key != links.CONTROLLER:
                    self._pids[key] = pid
                self._say(links.Forked(key=key, pid=pid))
            case forkserver.Died(key, pid, code, last):
                self._died(key, pid, code, last)

    def _died(self, key: int, pid: int, code: int, last: str) -> None:
        left: tuple[links.Words, ...] = ()
        fault = ""
        if self._pids.get(key) == pid:
            del self._pids[key]
            kept = self._forks.words.pop(key)
            left, fault = kept.read(), kept.fault()
            kept.close()
        self._say(links.Exited(key=key, pid=pid, code=code, last=last, words=left, fault=fault))

    def _server_gone(self) -> None:
        self._say(links.Preloaded(node=self._settings.node, error="the fork server has ended"))
        asyncio.get_running_loop().call_later(0.2, self._done.set)

    async def _measure(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            if self._pids:
                self._say(links.Samples(node=self._settings.node, samples=tuple(self._samples())))

    def _samples(self) -> list[links.RankSample]:
        samples = []
        for rank, pid in self._pids.items():
            spec = self._specs[rank]
            device = spec.local_rank % spec.gpus if spec.gpus else None
            samples.append(sample(rank, self._forks.rings[rank], self._devices.use(pid, device)))
        return samples


def _import_hint(error: str) -> str:
    if not error:
        return ""
    if "No module named 'torch'" in error:
        return f"Install it there: {sys.executable} -m pip install torch"
    if "torch.distributed" in error:
        return "Install a build of torch with distributed support."
    if error.startswith("ModuleNotFoundError"):
        return f"Install it there: {sys.executable} -m pip install dtrain-lab"
    return "The fork server's log has the details."


def main() -> None:
    """Entry point of `python -m dtrain_lab.node`."""
    settings = msgspec.json.decode(sys.stdin.buffer.read(), type=Settings)
    asyncio.run(Agent(settings).run())
