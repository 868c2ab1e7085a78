"""The head of a job: it watches ranks that a launcher owns. It may die, and the job goes on.

`python -m dtrain_lab.head observe FOLDER`, started by the batch script on the first node. What it knows lies
in `live.json` and `metrics.jsonl` of the job's folder; stacks are asked of it through its door.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import zmq
from msgspec.structs import replace

from dtrain_lab.core import hangs, jobfiles, network, stragglers
from dtrain_lab.core.advice import advise
from dtrain_lab.core.cluster import HostUse, Metrics, Node, Rank, Stack, Verdict, Where, with_use
from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.core.estimate import figures
from dtrain_lab.core.history import point
from dtrain_lab.core.job import JobRecord, Live
from dtrain_lab.core.kinds import RankPhase
from dtrain_lab.core.wire import doors, links
from dtrain_lab.core.wire.doors import NOT_YET
from dtrain_lab.core.wire.links import RankSample
from dtrain_lab.errors import Conflict, DtrainError
from dtrain_lab.head import elsewhere, ports
from dtrain_lab.head.aggregate import ALARMS
from dtrain_lab.head.attempts import Attempts
from dtrain_lab.head.relay import Relay
from dtrain_lab.head.sockets import Router
from dtrain_lab.head.watched import Watched
from dtrain_lab.machine import interfaces, private, processes, sockets
from dtrain_lab.machine.curve import Curve

TICK_S = 1.0
HISTORY_S = 5.0
STACKS_WITHIN_S = 5.0
PR_SET_PDEATHSIG = 1


class Observer:
    """Watches one job.

    Args:
        folder: of the job.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._record = msgspec.json.decode((folder / jobfiles.JOB).read_bytes(), type=JobRecord)
        self._ranks: dict[int, Watched] = {}
        self._places: dict[int, Where] = {}
        self._activities: dict[int, str] = {}
        self._restart = 0
        self._attempts = Attempts(folder, self._record.plan.size, self._ranks, self._to_agent)
        self._asked: dict[int, tuple[set[int], dict[int, links.Here], asyncio.Future[None]]] = {}
        self._next = 0
        self._values: dict[str, Any] = {}
        self._values_at = 0
        self._done = asyncio.Event()
        self._history_at = 0.0
        self._last: list[RankSample] = []
        self._hosts: dict[int, HostUse] = {}
        """Of when ranks were last alive: an ended job keeps its figures."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._relay = Relay(self._to_rank, self._to_door, self._alive, lambda: None, self._absent)

    async def run(self) -> None:
        """Watch until the batch script says so, or is gone."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._done.set)
        loop.add_signal_handler(signal.SIGUSR2, lambda: None)
        if hasattr(ctypes.CDLL(None), "prctl"):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        directory = private(sockets() / f"{self._record.id}.job")
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._link = Router(context, str(directory / "link"), self._from_link, lambda: None)
        self._door = Router(context, str(directory / "door"), self._from_door, lambda: None)
        curve = Curve(context)
        self._open(directory, curve)
        self._write_packages()
        tick = asyncio.create_task(self._tick())
        try:
            await self._done.wait()
        finally:
            tick.cancel()
            self._write()
            (self._folder / jobfiles.ENDPOINTS).unlink(missing_ok=True)
            self._link.close()
            self._door.close()
            curve.close()
            context.term()
            shutil.rmtree(directory, ignore_errors=True)

    def _open(self, directory: Path, curve: Curve) -> None:
        """Listen; on other machines' addresses only where the job has other machines."""
        profile = self._record.profile
        link: tuple[str, ...] = ()
        door: tuple[str, ...] = ()
        if profile.backend != "local":
            allowed = network.port_range(profile.network.ports)
            found = [i for i in interfaces() if profile.network.interface in (None, i.name)]
            addresses = sorted({i.address for i in found}) or ["127.0.0.1"]
            link = self._link.open_tcp(addresses, ports.candidates(allowed), curve)
            door = self._door.open_tcp(addresses, ports.candidates(allowed), curve)
        endpoints = Endpoints(
            id=self._record.id,
            host=socket.gethostname(),
            python=sys.executable,
            pid=os.getpid(),
            started=processes.started(),
            directory=str(directory),
            link=link,
            door=door,
            keys=curve.keys,
        )
        elsewhere.write(endpoints, self._folder / jobfiles.ENDPOINTS)

    def _write_packages(self) -> None:
        """What is installed here, for whoever wants to run it again."""
        found = sorted(
            {f"{d.metadata['Name']}=={d.version}" for d in metadata.distributions() if d.metadata["Name"]}
        )
        with contextlib.suppress(OSError):  # a full disk; the job goes on
            (self._folder / jobfiles.PACKAGES).write_text("\n".join(found) + "\n")

    # ---- link

    def _from_link(self, peer: bytes, frame: bytes) -> None:
        message = links.decode_to_head(frame)
        match message:
            case links.Attached():
                self._restart = max(self._restart, message.restart)
                for rank, local, pid in message.ranks:
                    self._ranks[rank] = Watched(message, local, pid, peer)
                self._attempts.joined(peer, message.restart)
            case links.Samples(node, samples, host):
                if host is not None:
                    self._hosts[node] = host
                for sample in samples:
                    watched = self._ranks.get(sample.rank)
                    if watched is not None:
                        watched.sample, watched.seen = sample, time.monotonic()
            case links.Exited(key, pid, code):
                watched = self._ranks.get(key)
                if watched is not None and watched.pid == pid:
                    watched.code = code
                    self._relay.forget(key)
                    self._attempts.ended(watched)
            case links.AskEnd(restart):
                self._attempts.asked(peer, restart)
            case links.Here():
                self._heard(message)
            case links.Debugged():
                self._relay.answered(message)
            case links.DebugEvent():
                self._relay.happened(message)
            case _:
                pass

    def _heard(self, here: links.Here) -> None:
        asked = self._asked.get(here.id)
        if asked is None:
            return
        missing, known, done = asked
        missing.discard(here.rank)
        known[here.rank] = here
        if not missing and not done.done():
            done.set_result(None)

    async def _ask(self, ranks: set[int]) -> dict[int, links.Here]:
        """Stacks of ranks; those that don't answer in time are left out."""
        self._next += 1
        number = self._next
        alive = {r for r in ranks if r in self._ranks and self._ranks[r].code is None}
        known: dict[int, links.Here] = {}
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked[number] = (set(alive), known, done)
        for peer in {self._ranks[r].peer for r in alive}:
            self._link.send(peer, [links.encode(links.AskWhere(id=number, stacks=True))])
        try:
            async with asyncio.timeout(STACKS_WITHIN_S):
                if alive:
                    await done
        except TimeoutError:
            pass
        finally:
            del self._asked[number]
        return known

    # ---- door

    def _from_door(self, door: bytes, frame: bytes) -> None:
        call = doors.decode_to_head(frame)
        task = asyncio.create_task(self._answer(door, call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, door: bytes, call: doors.Call) -> None:
        try:
            result = msgspec.msgpack.encode(await self._serve(door, call.body))
            answer = doors.Answer(call.id, result=result)
        except DtrainError as error:
            answer = doors.Answer(call.id, error={**error.as_dict(), "kind": type(error).default_code})
        self._door.send(door, [doors.encode(answer)])

    async def _serve(self, door: bytes, body: doors.AnyBody) -> Any:
        match body:
            case doors.Stacks(ranks):
                return await self._stacks(ranks)
            case doors.HoldDebugger():
                self._relay.hold(door, body)
                return self._record.plan.size
            case doors.LeaveDebugger():
                return await self._relay.leave(door)
            case doors.Debug():
                return await self._relay.ask(door, body)
            case _:
                raise Conflict(
                    "The head of a job answers for stacks and debuggers only.", "Ask for the job itself."
                )

    def _alive(self) -> tuple[int, ...]:
        return tuple(rank for rank, w in self._ranks.items() if w.code is None)

    def _absent(self, rank: int) -> str:
        return "has ended" if rank in self._ranks else NOT_YET

    def _to_agent(self, agent: bytes, message: links.Message) -> None:
        self._link.send(agent, [links.encode(message)])

    def _to_rank(self, rank: int, message: links.Message) -> None:
        self._to_agent(self._ranks[rank].peer, message)

    def _to_door(self, door: bytes, frame: bytes) -> None:
        self._door.send(door, [frame])

    async def _stacks(self, ranks: tuple[int, ...] | None) -> list[Stack]:
        wanted = set(ranks) if ranks is not None else set(self._ranks)
        known = await self._ask(wanted)
        return [
            Stack(
                rank, known[rank].text if rank in known else None, None if rank in known else "It has ended."
            )
            for rank in sorted(wanted)
        ]

    # ---- figures

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._relay.look()
            self._attempts.look()
            size, after = self._record.plan.size, self._record.plan.watch.stuck_after_s
            suspects = set() if self._relay.paused else set(hangs.suspects(self._samples(), size, after))
            verdict = self._stuck()
            suspects |= set(verdict.ranks) if verdict is not None else set()
            unknown = suspects - set(self._places)
            if unknown:
                for rank, here in (await self._ask(unknown)).items():
                    self._places[rank] = self._where(here)
                    self._activities[rank] = hangs.activity(here.frames)
            if not suspects:
                self._places.clear()
                self._activities.clear()
            self._write()

    def _where(self, here: links.Here) -> Where:
        mine = [f for f in here.frames if f.cell] or list(here.frames)
        if not mine:
            return Where(notebook=self._record.request.notebook)
        frame = mine[-1]
        return Where(
            self._record.request.notebook,
            frame.cell,
            None if frame.cell else frame.file,
            frame.function,
            frame.line,
        )

    def _samples(self) -> list[RankSample]:
        return [w.sample for _, w in sorted(self._ranks.items()) if w.sample is not None and w.code is None]

    def _stuck(self) -> Verdict | None:
        size = self._record.plan.size
        alive = tuple(r for r, w in self._ranks.items() if w.code is None)
        if len(self._ranks) < size or self._relay.paused:
            return None
        after = self._record.plan.watch.stuck_after_s
        return hangs.verdict(
            self._samples(), alive, tuple(self._ranks), size, self._places, after, self._activities
        )

    def _unhurried(self, samples: list[RankSample], metrics: Metrics) -> Verdict | None:
        """What is slow, and no alarm."""
        error = metrics.comm_overhead_error or 0.0
        one = self._record.profile.backend == "local"  # there all nodes are one machine
        hosts = {
            rank: host
            for rank, watched in self._ranks.items()
            if (host := self._hosts.get(0 if one else watched.node)) is not None
        }
        return stragglers.slow(samples, error, hosts) or stragglers.input_bound(samples)

    def _write(self) -> None:
        plan = self._record.plan
        crowded = any(node.threads == 1 for node in plan.nodes)
        samples = self._samples() or self._last
        self._last = samples
        metrics = figures.world_metrics(samples, plan.size, crowded)
        self._read_values()
        verdict = self._stuck() or (None if self._relay.paused else self._unhurried(samples, metrics))
        metrics = replace(
            metrics,
            values=self._values,
            verdicts=(verdict,) if verdict else (),
            advice=advise(metrics, samples),
        )
        blamed = {r: verdict.kind for r in verdict.ranks} if verdict else {}
        splits = figures.split(samples, plan.size, crowded)
        local = self._record.profile.backend == "local"  # there all nodes are one machine
        names = {w.node: plan.nodes[w.node].name if local else w.name for w in self._ranks.values()}
        live = Live(
            at=time.time(),
            ranks=tuple(
                self._rank(
                    rank, names.get(i, node.name), local, node.gpus, splits.get(rank), blamed.get(rank)
                )
                for i, node in enumerate(plan.nodes)
                for local in range(node.ranks)
                for rank in (node.first_rank + local,)
            ),
            nodes=tuple(
                with_use(
                    Node(names.get(i, node.name), node.address, "ready" if i in names else "starting"),
                    self._hosts.get(i),
                )
                for i, node in enumerate(plan.nodes)
            ),
            metrics=metrics,
            generation=self._restart,
            values=self._values,
        )
        try:
            part = self._folder / f".{jobfiles.LIVE}"
            part.write_bytes(msgspec.json.encode(live))
            part.rename(self._folder / jobfiles.LIVE)
            if live.at - self._history_at >= HISTORY_S and metrics.step_s is not None:
                self._history_at = live.at
                self._note(live)
        except OSError as failure:  # a full disk: the training goes on
            with contextlib.suppress(OSError):  # its own log is there, too
                os.write(2, f"dtrain-lab: the job's folder: {failure.strerror}\n".encode())

    def _note(self, live: Live) -> None:
        kept = point(live.at, live.metrics, live.ranks, live.nodes, live.generation)
        with open(self._folder / jobfiles.HISTORY, "ab") as file:
            file.write(msgspec.json.encode(kept) + b"\n")

    def _read_values(self) -> None:
        """The user's own, as rank 0 writes them; only whole lines."""
        try:
            with open(self._folder / jobfiles.VALUES, "rb") as file:
                file.seek(self._values_at)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._values_at += len(whole)
        for line in whole.splitlines():
            told = json.loads(line)
            self._values = {**self._values, **told["values"], "step": told["step"]}

    def _rank(
        self,
        rank: int,
        node: str,
        local: int,
        gpus: int,
        split: figures.Split | None,
        blame: str | None,
    ) -> Rank:
        watched = self._ranks.get(rank)
        sample = (
            watched.sample if watched is not None and watched.sample is not None else RankSample(rank=rank)
        )
        rank_now = Rank(
            rank=rank,
            node=node,
            local_rank=watched.local_rank if watched else local,
            device=f"cuda:{local % gpus}" if gpus else "cpu",
            pid=watched.pid if watched else None,
            state=self._phase(rank, stuck=blame in ALARMS),
            doing=sample.doing,
            where=self._places.get(rank),
            slow=blame == "slow",
            last_seen_s=watched.silent_s if watched else None,
        )
        return figures.with_figures(rank_now, sample, split)

    def _phase(self, rank: int, *, stuck: bool) -> RankPhase:
        if rank in self._relay.paused:
            return "paused"
        return self._ranks[rank].phase(stuck=stuck) if rank in self._ranks else "starting"
