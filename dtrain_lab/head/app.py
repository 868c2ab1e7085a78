"""The head's process: its sockets, and the parts that are the same for clusters and jobs."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import zmq

from dtrain_lab.head import listen
from dtrain_lab.head.cells.cell_requests import chosen
from dtrain_lab.head.cells.client_queues import ClientQueues
from dtrain_lab.head.cells.journal import Journal
from dtrain_lab.head.debug_broker import DebugBroker
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.history import History
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.head.ownership.observer import Observer
from dtrain_lab.head.ownership.owner import Owner
from dtrain_lab.head.ownership.rank_ownership import Parts, RankOwnership
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.head.requests import Handlers, Requests
from dtrain_lab.head.sockets import Router, Sent
from dtrain_lab.head.stacks import Stacks
from dtrain_lab.head.watchers import Watchers
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import supervision
from dtrain_lab.machine.folders import private, sockets
from dtrain_lab.machine.logs import event_logs
from dtrain_lab.machine.net.curve import Curve
from dtrain_lab.wire import VERSION, clients, links
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.codec import lenient
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.kinds import ENDING
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.processes.settings import HeadSettings
from dtrain_lab.wire.stacks import Stack

log = logging.getLogger("dtrain_lab.head")
TRY_AGAIN_S = 0.05


class Head:
    """Holds the state of one world and serves clients.

    Args:
        identity: Id of the world.
        directory: Folder of sockets and journal; node-local, mode 0700.
        ownership: Makes what either owns the ranks or observes them.
    """

    def __init__(self, identity: str, directory: Path, ownership: Callable[[Parts], RankOwnership]) -> None:
        self._id = identity
        self._directory = directory
        self._journal = Journal(directory)
        self._client_queues = ClientQueues(self._to_client, self._journal, self._soon)
        self._collector = MetricsCollector()
        routes = RankRoutes(
            lambda peer, frames: self._link.send(peer, frames), lambda peer: self._link.read_last(peer)
        )
        self._debugger = DebugBroker(routes, self._client_queues.send, self._paused)
        self._parts = Parts(
            link=f"ipc://{directory / 'link'}",
            collector=self._collector,
            snapshot=Snapshot(identity, self._collector),
            routes=routes,
            journal=self._journal,
            client_queues=self._client_queues,
            debugger=self._debugger,
            mark_changed=lambda: self._watchers.moved(),
            before_cell=lambda: self._record_history(ended=True),
        )
        self._ownership = ownership(self._parts)
        self._stacks = Stacks(self._ownership, routes, self._collector)
        self._history = History(
            self._ownership.point_s, self._ownership.record_point, self._ownership.idle_point_s
        )
        self._watchers = Watchers(
            self._client_queues,
            self._ownership.cluster,
            lambda: self._ownership.state.phase in ENDING,
            self._ownership.tick_s,
        )
        self._requests = Requests(
            {**self._ownership.handlers, **self._debugger.handlers, **self._handlers()},
            self._ownership.ordered,
            self._client_queues.send,
        )
        self._flushes = False
        self._again: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Serve until the world has ended."""
        supervisor = supervision.here()
        supervisor.own_loop()
        supervisor.on_failure.append(lambda _: self._watchers.moved())
        log.info("began: world %s, version %s, pid %s", self._id, VERSION, os.getpid())
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._link = Router(context, str(self._directory / "link"), self._from_link, self._flush)
        self._client = Router(
            context, str(self._directory / "client"), self._from_client, self._flush, clients.HIGH_WATER_MARK
        )
        listens = self._ownership.listens
        curve = Curve(context) if listens is not None else None
        if listens is not None and curve is not None:
            listen.publish(listens, self._id, self._directory, self._link, self._client, curve)
        watch = supervisor.start_loop("head.watch", self._watch)
        try:
            await self._ownership.run(curve.keys if curve is not None else None)
        finally:
            log.info("ends: %s", self._ownership.state.phase)
            watch.cancel()
            self._watchers.moved()
            self._watchers.notify()  # the panel says who has stopped the world
            self._client_queues.flush()
            self._record_history(ended=True)
            self._link.close()
            self._client.close()
            self._journal.close()
            if curve is not None:
                curve.close()
            context.term()
            shutil.rmtree(self._directory, ignore_errors=True)

    async def _watch(self) -> None:
        """On each tick: check the ranks, locate suspected ones, keep history, notify watchers."""
        ownership, collector = self._ownership, self._collector
        cells: frozenset[str] = frozenset()
        while True:
            await asyncio.sleep(ownership.tick_s)
            self._debugger.check_client()
            stuck = collector.stuck(ownership.state)
            ownership.tick(stuck)
            await self._stacks.locate(stuck, collector.suspects(ownership.state))
            cells, before = ownership.state.cells, cells
            self._record_history(ended=bool(before - cells))
            self._watchers.notify()

    def _record_history(self, *, ended: bool) -> None:
        """Add a point to the history if one is due; `ended`: a cell has ended, or the world."""
        at, ownership, collector = time.time(), self._ownership, self._collector
        trains = bool(ownership.state.busy) and collector.trains
        if self._history.due(at, collector.values.current, trains=trains, ended=ended):
            # costs much; only the metrics of the cluster say for certain whether steps are taken
            cluster = ownership.cluster()
            metrics = cluster.metrics
            trains = metrics.current and metrics.step_s is not None
            if self._history.due(at, metrics.values, trains=trains, ended=ended):
                self._history.add(at, cluster)
        state = ownership.state
        if self._history.rests(at, state.generation, state.lost):
            self._history.rest(at, ownership.cluster(), state.lost)

    # ---- link

    def _from_link(self, peer: bytes, frame: bytes) -> None:
        message = links.decode_to_head(frame)
        match message:
            case links.Samples(node, samples, host):
                self._collector.sampled(samples, node, host)
            case links.StacksRead():
                self._stacks.received(message)
            case links.DebugResponse():
                self._debugger.answered(message)
            case links.DebugEvent():
                self._debugger.happened(message)
            case links.LoopFailed():
                self._parts.failures.reported(message)
                self._watchers.moved()
        self._ownership.received(peer, message, frame)

    def _paused(self) -> None:
        stopped = self._debugger.stopped_at.items()
        places = {rank: self._stacks.location(rank, frame) for rank, frame in stopped}
        self._collector.pauses.update(self._debugger.paused, places)
        self._watchers.moved()

    # ---- clients

    def _from_client(self, client: bytes, frame: bytes) -> None:
        self._requests.received(client, frame)
        self._ownership.client_active()

    def _handlers(self) -> Handlers:
        return {
            clients.Info: self._info,
            clients.Clock: self._clock,
            clients.Watch: self._watchers.watch,
            clients.ReadHistory: self._read_history,
            clients.Stacks: self._read_stacks,
            clients.AcquireDebugger: self._acquire_debugger,
        }

    async def _info(self, _: bytes, __: clients.Info) -> Cluster:
        return self._ownership.cluster()

    async def _clock(self, _: bytes, __: clients.Clock) -> float:
        return time.time()

    async def _read_history(self, _: bytes, order: clients.ReadHistory) -> list[Point]:
        return self._history.since(order.since, idle=order.idle)

    async def _read_stacks(self, _: bytes, order: clients.Stacks) -> list[Stack]:
        return await self._stacks.of(chosen(self._ownership.state, order.ranks))

    async def _acquire_debugger(self, client: bytes, order: clients.AcquireDebugger) -> int:
        self._debugger.acquire(client, order)
        return self._ownership.state.size  # the size counts lost ranks too: they keep their numbers

    def _to_client(self, client: bytes, frames: list[bytes]) -> Sent:
        return self._client.send(client, frames)

    def _soon(self) -> None:
        if not self._flushes:
            self._flushes = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self, *, again: bool = False) -> None:
        self._flushes = False
        self._client_queues.flush(again=again)
        if self._client_queues.unfinished:
            self._soon()
        if self._client_queues.full and self._again is None:
            self._again = asyncio.get_running_loop().call_later(TRY_AGAIN_S, self._try_again)

    def _try_again(self) -> None:
        self._again = None
        self._flush(again=True)


def main() -> None:
    """Entry point of `python -m dtrain_lab.head [SETTINGS | observe FOLDER]`; by default reads stdin."""
    if sys.argv[1:2] == ["observe"]:
        folder = Path(sys.argv[2])
        job = lenient.decode((folder / job_files.JOB).read_bytes(), JobRecord)
        event_logs.to_file(folder / f"head{event_logs.SUFFIX}")
        directory = private(sockets() / f"{job.id}.job")
        _run(lambda: Head(job.id, directory, lambda parts: Observer(folder, job, parts)))
        return
    if len(sys.argv) > 1:  # in a batch script: settings are read once, so the file is removed
        file = Path(sys.argv[1])
        text = file.read_bytes()
        file.unlink()
    else:
        text = sys.stdin.buffer.read()
    settings = msgspec.json.decode(text, type=HeadSettings)
    if not settings.directory:  # on another machine: a folder of that machine
        own_folder = str(private(sockets() / settings.id))
        record_file = settings.record or f"{own_folder}/record.json"
        settings = msgspec.structs.replace(settings, directory=own_folder, record=record_file)
    directory = Path(settings.directory)
    event_logs.to_file(directory / f"head{event_logs.SUFFIX}")
    _run(lambda: Head(settings.id, directory, lambda parts: Owner(settings, parts)))


def _run(make: Callable[[], Head]) -> None:
    async def serve() -> None:
        await make().run()

    asyncio.run(serve())
