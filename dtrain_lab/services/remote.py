"""A connection to a world on other machines: also while it waits in a queue, and across lost networks.

Until its head listens, this end answers for it: what the scheduler says, and that it can be cancelled.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import zmq
import zmq.asyncio
from msgspec.structs import replace

from dtrain_lab.backends import registry
from dtrain_lab.backends.base import Backend, Status
from dtrain_lab.core import clock
from dtrain_lab.core.cluster import CellResult, Cluster, Metrics, Node, Phase, Rank, Reason, Summary, World
from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.core.record import HeadRecord, Remote
from dtrain_lab.core.wire import doors
from dtrain_lab.core.wire.links import CellOutput
from dtrain_lab.errors import Conflict, DtrainError, NotFound, SignInNeeded, Unreachable
from dtrain_lab.services import records
from dtrain_lab.services.reach import ANSWER_WITHIN_S, Connection

LOOK_S = 0.3
"""A file on a shared file system may be looked at so often; the scheduler is asked far less."""
STATUS_S = 3.0
PING_WITHIN_S = 5.0
OPEN_WITHIN_S = 3.0


class RemoteConnection(Connection):
    """One door's connection to a head on another machine.

    Args:
        record: kept by the doors; holds how the world was started.
    """

    def __init__(self, record: HeadRecord) -> None:
        super().__init__(record)
        assert record.remote is not None
        self._remote: Remote = record.remote
        self._backend: Backend = registry.backend(self._remote.profile.backend)
        self._status = Status("pending")
        self._held: list[doors.Hold] = []
        self._coming: asyncio.Task[None] | None = None
        self._up = asyncio.Event()
        self._stopping = False
        self._ahead = 0.0
        """By how many seconds the clock of the head's machine is ahead of this one's."""
        self._shown: dict[str, int] = {}
        """Cell → pieces of its output that have come."""
        self._monitored: Any = None
        self._sent: dict[int, doors.Call] = {}
        self._since = time.monotonic()
        self._monitor: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin to look for the head; whoever asks meanwhile is answered here."""
        self._coming = asyncio.create_task(self._come_up())
        if self._remote.handle.endpoints is not None and self._remote.problem is None:
            try:
                async with asyncio.timeout(OPEN_WITHIN_S):
                    await self._up.wait()
            except TimeoutError:  # a network that is slow, or gone: it goes on looking
                pass

    async def ask(self, body: doors.AnyBody, within_s: float | None = ANSWER_WITHIN_S) -> Any:
        """Ask the head, or whoever stands in for it."""
        if self._up.is_set() or self.closed:
            if isinstance(body, doors.ReadHistory):
                body = replace(body, since=body.since + self._ahead)
            answer = clock.by_ours(await super().ask(body, within_s), self._ahead)
            self._stopping = self._stopping or isinstance(body, doors.Stop)
            return answer
        match body:
            case doors.Info():
                return self._cluster()
            case doors.Hold():
                self._held.append(body)
                return self._cluster()
            case doors.Stop():
                await self._cancel()
                return None
            case doors.Watch() | doors.Release():
                return None
        raise Conflict(f"{self.record.name} is not ready: {self._cluster().summary.text}", "Wait for it.")

    async def forward(self, address: str, port: int) -> tuple[str, int]:
        """An address that leads to a port of the head's node."""
        endpoints = self._remote.handle.endpoints
        assert endpoints is not None
        return await self._backend.forward(
            self._remote.profile, self._remote.handle, endpoints, address, port
        )

    def close(self) -> None:
        """Disconnect, and look no longer."""
        for task in (self._coming, self._monitor):
            if task is not None and task is not asyncio.current_task():
                task.cancel()
        if self._monitor is not None and self._socket is not None and not self._socket.closed:
            self._socket.disable_monitor()
        super().close()

    # ----

    async def _come_up(self) -> None:
        profile = self._remote.profile
        asked = 0.0
        while self._remote.problem is None:
            try:
                endpoints = (
                    self._remote.handle.endpoints
                    or await self._backend.endpoints(profile, self._remote.handle)
                    or self._kept()
                )
                if endpoints is not None:
                    self._keep(endpoints)
                    way = await self._backend.reach(profile, self._remote.handle, endpoints)
                    self._connect(way.url, way.keys)
                    self._watch_link()
                    if await self._reachable():
                        await self._arrived()
                        return
                    self._disconnect()
                if time.monotonic() - asked > STATUS_S:
                    asked = time.monotonic()
                    await self._look()
                    if self._status.fate == "ended":
                        if (
                            self._remote.handle.endpoints is not None
                        ):  # it ran, and nobody was there at its end
                            self._over()
                        else:
                            await self._ended_early()
                        return
            except DtrainError as error:
                host = error.details.get("host") if isinstance(error, SignInNeeded) else None
                self._status = Status("pending", Reason(error.code, error.message, error.hint, host=host))
            self._tell()
            await asyncio.sleep(LOOK_S)

    async def _reachable(self) -> bool:
        asked = time.time()
        try:
            said = await super().ask(doors.Clock(), PING_WITHIN_S)
        except Unreachable:
            return False
        self._ahead = clock.ahead(asked, said, time.time())
        return True

    async def _arrived(self) -> None:
        held, self._held = self._held, []
        for hold in held:
            await super().ask(hold)
        self._up.set()
        if self._watchers:
            await super().ask(doors.Watch(0.5))

    def _watch_link(self) -> None:
        self._monitored = self._socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._monitor = asyncio.create_task(self._link_lost(self._monitored))

    async def _link_lost(self, monitor: Any) -> None:
        """A connection that breaks comes back by itself, unless the world is over."""
        waiting = zmq.asyncio.Socket.shadow(monitor)
        while True:
            await waiting.recv_multipart()
            while not self.closed:
                try:
                    await self._look()
                except DtrainError:  # the network is gone: what runs, runs on
                    self._status = Status("running")
                if self._stopping or self._status.fate == "ended":
                    self._over()
                    return
                try:
                    # at the same place, where the way itself has to be made again
                    await self._backend.reach(
                        self._remote.profile, self._remote.handle, self._remote.handle.endpoints
                    )
                except DtrainError:
                    await asyncio.sleep(LOOK_S)
                    continue
                if await self._reachable():
                    await self._catch_up()
                    break

    async def _catch_up(self) -> None:
        """The head knows this end by another name now: what it said meanwhile is asked for again."""
        while self._monitored.poll(0):  # of the attempts that failed
            self._monitored.recv_multipart()
        self._ask_again()
        for cell, (_, done) in list(self._cells.items()):
            self._next += 1
            self._answers[self._next] = (CellResult, done)
            self._send(doors.Call(self._next, doors.Follow(cell, self._shown.get(cell, 0))))
        if self._watchers:
            await super().ask(doors.Watch(0.5))

    def _ask_again(self) -> None:
        """Questions whose answer was lost: what changes nothing is asked again, the rest is told."""
        open_calls = [call for number, call in self._sent.items() if number in self._answers]
        self._sent.clear()
        for call in open_calls:
            if isinstance(call.body, doors.Info | doors.Clock | doors.Watch | doors.Hold | doors.ListCells):
                self._send(call)
            elif not isinstance(call.body, doors.Run | doors.Follow):
                future = self._answers[call.id][1]
                if not future.done():
                    text = f"The connection to {self.record.name} broke before it answered."
                    future.set_exception(Unreachable(text, "It may have been done: look at its state."))

    def _send(self, call: doors.Call) -> None:
        self._sent = {n: c for n, c in self._sent.items() if n in self._answers}
        self._sent[call.id] = call
        super()._send(call)

    def _received(self, message: doors.ToDoor) -> None:
        """As ever; counts what of a cell need not come again when it is followed anew."""
        if isinstance(message, CellOutput) and not message.kind.startswith("comm_"):
            self._shown[message.cell] = self._shown.get(message.cell, 0) + 1
        elif isinstance(message, doors.OutputMissing):
            self._shown[message.cell] = self._shown.get(message.cell, 0) + message.pieces
        elif isinstance(message, doors.CellEnded):
            self._shown.pop(message.result.cell, None)
        elif isinstance(message, doors.Changed):
            message = doors.Changed(clock.by_ours(message.cluster, self._ahead))
        super()._received(message)

    async def _look(self) -> None:
        self._status = await self._backend.status(self._remote.profile, self._remote.handle)

    def _kept(self) -> Endpoints | None:
        """Where another door was faster, the head has removed the file, and the record has what it said."""
        record = records.read(self.record.id)
        return record.remote.handle.endpoints if record is not None and record.remote is not None else None

    def _keep(self, endpoints: Endpoints) -> None:
        """The file is removed once all have joined: the record keeps what it said."""
        if self._remote.handle.endpoints is None:
            self._remote = replace(self._remote, handle=replace(self._remote.handle, endpoints=endpoints))
            self.record = replace(self.record, remote=self._remote)
            records.write(self.record)

    async def _ended_early(self) -> None:
        reason = self._status.reason
        text = await self._backend.log(self._remote.profile, self._remote.handle, "slurm", 0)
        last = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
        message = reason.message if reason is not None else "It ended before it was ready."
        # srun says at the end that a task has ended, and what it said itself may come before that or after
        telling = [line for line in last if not line.startswith("srun: error:")] or last
        hint = f"Its log ends: {telling[-1]}" if last else (reason.hint if reason is not None else "")
        self._remote = replace(self._remote, problem=(message, hint))
        self.record = replace(self.record, remote=self._remote)
        records.write(self.record)
        self._tell()

    async def _cancel(self) -> None:
        if self._remote.problem is None:
            try:
                await self._backend.cancel(self._remote.profile, self._remote.handle)
            except NotFound:
                pass
        self._over()

    def _gone(self) -> Unreachable:
        reason = self._status.reason
        if reason is None or not reason.final:
            return super()._gone()
        return Unreachable(f"{self.record.name} has ended. {reason.message}", reason.hint, code="ended")

    def _over(self) -> None:
        records.forget(self.record.id)
        self._gone_event.set()
        asyncio.get_running_loop().call_soon(self.close)

    def _disconnect(self) -> None:
        if self._monitor is not None:
            self._monitor.cancel()
            self._socket.disable_monitor()
        asyncio.get_running_loop().remove_reader(int(self._socket.fd))
        self._socket.close()
        self._socket = None

    def _tell(self) -> None:
        cluster = self._cluster()
        for watcher in list(self._watchers):
            watcher(cluster)

    def _cluster(self) -> Cluster:
        """What is known of a world that has no head yet, or none that answers."""
        remote, plan = self._remote, self._remote.plan
        name = self.record.name
        reason = self._status.reason
        if remote.problem is not None:
            state, text = "failed", f"{name} did not start."
            reason = Reason("not_started", remote.problem[0], remote.problem[1], final=True)
        elif remote.handle.endpoints is not None:
            state, text = "starting", f"{name} can't be reached now. Its ranks go on; no output is lost."
        elif self._status.fate == "running":
            state, text = "starting", f"{name} starts on its nodes."
        else:
            state, text = "pending", f"{name} waits in the queue."
        return Cluster(
            id=self.record.id,
            name=name,
            profile=remote.profile.name,
            state=state,  # type: ignore[arg-type]
            reason=replace(reason, since_s=time.monotonic() - self._since) if reason is not None else None,
            summary=Summary(f"remote_{state}", {"name": name}, text),
            world=World(plan.size, 0),
            nodes=tuple(Node(node.name, node.address, state) for node in plan.nodes),
            ranks=tuple(
                Rank(node.first_rank + local, node.name, local, "cpu", None, "starting")
                for node in plan.nodes
                for local in range(node.ranks)
            ),
            metrics=Metrics(),
            progress=(Phase("queue", 0, 1, time.monotonic() - self._since),),
            notebooks=(),
            owner=remote.owner,
            may=("stop",) if remote.problem is None else ("remove",),
            created_at=self.record.created_at,
        )
