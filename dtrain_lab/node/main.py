"""The node agent's process: link, fork server, samples."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any

import msgspec
import zmq
import zmq.asyncio
from msgspec.structs import replace

from dtrain_lab.core.endpoints import Keys
from dtrain_lab.core.estimate.ring import Call
from dtrain_lab.core.slots import REFUSED
from dtrain_lab.core.stacks import main_frames
from dtrain_lab.core.wire import links
from dtrain_lab.errors import DtrainError
from dtrain_lab.machine import check, gpus, tickets
from dtrain_lab.machine.cgroup import OutOfMemory
from dtrain_lab.machine.curve import introduce
from dtrain_lab.node import forkserver
from dtrain_lab.node.devices import Devices
from dtrain_lab.node.forks import Forks
from dtrain_lab.node.host import Host
from dtrain_lab.node.network import Listener, reaches, still_there
from dtrain_lab.node.sampler import sample

TICK_S = 0.25
IDLE_TICK_S = 1.0
"""While no rank does anything."""
NO_CUDA = "can't compute on the GPUs of this machine"
IDLE_CPU = 0.03
SILENT_MS = 30_000
"""A link over which nothing gets through for so long is over."""


class Settings(msgspec.Struct, frozen=True):
    """What starts an agent; a line of JSON on stdin, so that nothing of it shows in a process list.

    `link` may be empty while nobody knows it: the fork server starts, and another line brings the whole.
    """

    node: int
    name: str
    link: str
    directory: str
    gpus: int = 0
    variables: dict[str, str] = {}
    lifeline: int | None = None
    """Descriptor whose end of file means that the head, or whoever keeps this agent, is gone."""
    keys: Keys | None = None
    """Of a link over TCP."""
    joins: bool = False
    """Somebody else than the head started this agent: the head does not know the node yet."""


class Agent:
    """One node of a world."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pids: dict[int, int] = {}
        self._gpus: dict[int, str] = {}
        """Rank → its own."""
        self._devices = Devices(settings.gpus)
        variables = {**os.environ, **settings.variables}
        self._visible = gpus.usable(variables) if settings.gpus else ()
        """GPUs that ranks could use."""
        self._only: dict[str, str] = {}
        """Variables that show ranks the cluster's GPUs, and no others."""
        self._host = Host()
        self._memory = OutOfMemory()
        self._forks = Forks(settings.variables, self._heard, self._server_gone)
        self._listener: Listener | None = None
        self._done = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._socket: Any = None
        self._monitor: Any = None
        self._waiting: list[links.Message] = []
        """Said before there was a link."""

    async def run(self) -> None:
        """Serve the head until it says so, or is gone."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._done.set)
        if self._settings.lifeline is not None:
            loop.add_reader(self._settings.lifeline, self._done.set)
        self._forks.start(os.path.join(self._settings.directory, f"forks.{self._settings.node}.log"))
        if not self._settings.link:
            line = await asyncio.to_thread(sys.stdin.buffer.readline)
            if not line:  # whoever keeps this agent found no head
                self._forks.end()
                return
            self._settings = msgspec.json.decode(line, type=Settings)
        context = zmq.asyncio.Context()
        self._socket = context.socket(zmq.DEALER)
        self._socket.linger = 500
        self._socket.sndhwm = self._socket.rcvhwm = 0
        tasks = [self._watch_link()] if self._settings.keys is not None else []
        self._socket.connect(self._settings.link)
        self._say(self._hello())
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            self._say(message)
        tasks += [asyncio.create_task(self._obey()), asyncio.create_task(self._measure())]
        try:
            await self._done.wait()
        finally:
            for task in tasks:
                task.cancel()
            self._forks.end()
            if self._monitor is not None:
                self._socket.disable_monitor()
                self._monitor.close(linger=0)
            self._socket.close()
            context.term()

    def _hello(self) -> links.NodeHello:
        settings = self._settings
        hello = links.NodeHello(
            node=settings.node,
            name=settings.name,
            pid=os.getpid(),
            directory=settings.directory,
            link=settings.link,
        )
        if settings.keys is None and not settings.joins:
            return hello
        return msgspec.structs.replace(hello, check=check())

    def _watch_link(self) -> asyncio.Task[None]:
        """Over TCP: be known by name after a reconnect, and learn of the head's end."""
        keys = self._settings.keys
        assert keys is not None
        self._socket.routing_id = f"node-{self._settings.node}-{os.getpid()}".encode()
        introduce(self._socket, self._settings.link, keys)
        self._socket.setsockopt(zmq.TCP_MAXRT, SILENT_MS)
        # a head that is being killed may still accept: ZeroMQ's next attempt then tells
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_CONNECT_RETRIED)
        return asyncio.create_task(self._head_gone(self._monitor))

    async def _head_gone(self, monitor: Any) -> None:
        """A connection breaks because the head ended, or the network did: the first is known at once."""
        while True:
            await monitor.recv_multipart()
            if not await still_there(self._settings.link, SILENT_MS / 1000):
                self._done.set()

    def _hold(self, cluster: str, name: str, size: int) -> None:
        """Whoever asks for slots of this host sees that a cluster has them; its ranks see its GPUs only."""
        held = tickets.hold(cluster, name, size, self._visible)
        self._only = gpus.only(held) if held != self._visible else {}

    def _fork(self, spec: links.RankSpec) -> None:
        names = gpus.usable({**os.environ, **spec.variables}) if spec.gpus else ()
        if names:
            self._gpus[spec.rank] = names[spec.local_rank % len(names)]
        self._forks.fork(spec)

    async def _listen(self, order: links.Listen) -> None:
        self._listener = Listener(order.nonce)
        try:
            port = await self._listener.open(order.address, order.ports)
        except OSError as error:
            self._say(links.Listening(node=self._settings.node, error=error.strerror or str(error)))
        else:
            self._say(links.Listening(node=self._settings.node, port=port))

    async def _probe(self, order: links.Probe) -> None:
        found = await asyncio.gather(*(reaches(t.address, t.port, t.nonce) for t in order.targets))
        blocked = tuple(t.node for t, good in zip(order.targets, found, strict=True) if not good)
        self._say(links.Probed(node=self._settings.node, blocked=blocked))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _say(self, message: links.Message) -> None:
        if self._socket is None:
            self._waiting.append(message)
        elif not self._socket.closed:
            self._socket.send(links.encode(message))

    async def _obey(self) -> None:
        while True:
            for frame in await self._socket.recv_multipart():
                match links.decode_to_agent(frame):
                    case links.Hold(cluster, name, size):
                        self._hold(cluster, name, size)
                    case links.Fork(ranks):
                        for spec in ranks:
                            self._fork(replace(spec, variables={**self._only, **spec.variables}))
                    case links.ForkController() as order:
                        self._forks.fork_controller(order)
                    case links.Signal(keys, number):
                        self._forks.signal(keys, number)
                    case links.Listen() as listen:
                        self._begin(self._listen(listen))
                    case links.Probe() as probe:
                        self._begin(self._probe(probe))
                    case links.Hush():
                        if self._listener is not None:
                            self._listener.close()
                    case links.AskStacks(number, ranks):
                        self._begin(self._stacks(number, ranks))
                    case links.Leave():
                        self._done.set()

    async def _stacks(self, number: int, ranks: tuple[int, ...]) -> None:
        for rank in ranks:
            pid, kept = self._pids.get(rank), self._forks.words.get(rank)
            if pid is not None and kept is not None:
                text = await kept.stacks(pid)
                if text:
                    self._say(links.Here(rank=rank, id=number, frames=main_frames(text), text=text))

    def _heard(self, news: forkserver.News) -> None:
        match news:
            case forkserver.Loaded(seconds, torch, on_gpus, error):
                if not error and not on_gpus and self._visible:
                    error = f"torch {torch} {NO_CUDA}"
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
        calls: tuple[Call, ...] = ()
        if self._pids.get(key) == pid:
            del self._pids[key]
            kept = self._forks.words.pop(key)
            left, fault = kept.read(), kept.fault()
            kept.close()
            calls = tuple(self._forks.rings[key].calls())
        how = self._memory.how(in_job="SLURM_JOB_ID" in os.environ) if code == -signal.SIGKILL else ""
        self._say(
            links.Exited(
                key=key, pid=pid, code=code, last=last, words=left, fault=fault, calls=calls, how=how
            )
        )

    def _server_gone(self) -> None:
        self._say(links.Preloaded(node=self._settings.node, error="the fork server has ended"))
        asyncio.get_running_loop().call_later(0.2, self._done.set)

    async def _measure(self) -> None:
        period = TICK_S
        while True:
            await asyncio.sleep(period)
            if self._pids:
                samples = self._samples()
                host = self._host.use()
                self._say(links.Samples(node=self._settings.node, samples=tuple(samples), host=host))
                period = TICK_S if any(map(_moves, samples)) else IDLE_TICK_S

    def _samples(self) -> list[links.RankSample]:
        samples = []
        for rank, pid in self._pids.items():
            gpu = self._gpus.get(rank)
            samples.append(sample(rank, self._forks.rings[rank], self._devices.use(pid, gpu)))
        return samples


def _moves(sample: links.RankSample) -> bool:
    """This rank does something."""
    return sample.operation is not None or (sample.cpu_utilization or 0.0) > IDLE_CPU


def _import_hint(error: str) -> str:
    if not error:
        return ""
    if "No module named 'torch'" in error:
        return f"Install it there: {sys.executable} -m pip install torch"
    if NO_CUDA in error:
        return (
            "Install a build of torch with CUDA; or, to train on the processor, hide the GPUs: "
            'CUDA_VISIBLE_DEVICES = "" under [environment] variables of the profile.'
        )
    if "torch.distributed" in error:
        return "Install a build of torch with distributed support."
    if error.startswith("ModuleNotFoundError"):
        return f"Install it there: {sys.executable} -m pip install dtrain-lab"
    return "The fork server's log has the details."


def _slots(stop: str | None) -> int:
    """Print who holds the slots, after a process of a GPU was ended, if one shall be; or why it was not."""
    try:
        node = tickets.look() if stop is None else tickets.stop(stop)
    except DtrainError as error:
        told = {**error.as_dict(), "kind": type(error).default_code}
        sys.stdout.buffer.write(msgspec.json.encode(told) + b"\n")
        return REFUSED
    sys.stdout.buffer.write(msgspec.json.encode(node) + b"\n")
    return 0


def main() -> None:
    """Entry point of `python -m dtrain_lab.node`."""
    if len(sys.argv) > 1:
        from dtrain_lab.node import join

        if sys.argv[1] == "check":
            found = check(sys.argv[2] if len(sys.argv) > 2 else None)
            sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
            return
        if sys.argv[1] == "slots":
            sys.exit(_slots(sys.argv[2] if len(sys.argv) > 2 else None))
        if sys.argv[1] == "bridge":
            from dtrain_lab.node import bridge

            sys.exit(bridge.main(sys.argv[2]))
        sys.exit(join.main(sys.argv[1:]))
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=Settings)
    asyncio.run(Agent(settings).run())
