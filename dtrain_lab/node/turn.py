"""Waits for a job's slots where nobody schedules: `python -m dtrain_lab.node turn FOLDER [NODE]`.

It stands first in a job's script, on each host; without NODE this machine is all nodes. Hosts find their turn
themselves: each has tickets of its own, and the first one listens to the others, to begin all at once. It
prints a port that ranks may meet at and the GPUs they may use. Then the first host, for a while, tells the
others how the job's head is reached: they may share no folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import zmq
import zmq.asyncio

from dtrain_lab.core import gang, jobfiles, network, slots
from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.endpoints import Keys
from dtrain_lab.core.job import End, JobRecord
from dtrain_lab.core.wire import gang as wire
from dtrain_lab.machine import gpus, ipv6, local_facts, processes, tickets
from dtrain_lab.machine.curve import Curve, introduce

LOOK_S = 0.3
SAY_S = 1.0
"""A host says again where it stands."""
HEAD_WITHIN_S = 60.0


class Failed(Exception):
    """It will not start; the reason is written where doors read it."""


class Turn:
    """This host's ticket.

    Args:
        record: of the job.
        folder: of the job.
        node: which of its hosts this is; None where this machine is all.
        script: pid of the process that runs its script.
    """

    def __init__(self, record: JobRecord, folder: Path, node: int | None, script: int) -> None:
        self._record = record
        self._folder = folder
        self._node = node or 0
        self._facts = local_facts()
        self._said = b""
        self._hold = 0
        """How often it has taken slots."""
        self.devices: tuple[str, ...] = ()
        """GPUs that it holds."""
        size = record.plan.size if node is None else record.plan.nodes[node].ranks
        if not any(ticket.id == record.id for ticket in tickets.living()):  # else the submission queued it up
            tickets.put(slots.job_ticket(record, script, processes.started(script), size))

    def look(self) -> wire.Stands:
        """Hold slots if there is room; say where this host stands."""
        with tickets.locked():
            living = tickets.living()
            mine = next(ticket for ticket in living if ticket.id == self._record.id)
            if mine.holds:
                return wire.Holds(self._node, self._hold, slots.keeps_earlier_waiting(living, mine))
            answer = slots.turn(living, mine.id, self._facts, gpus.usable(), gpus.processes())
            if isinstance(answer, Reason):
                return wire.Waits(self._node, answer)
            tickets.put(answer)
            self.devices = answer.devices
            self._hold += 1
            return wire.Holds(self._node, self._hold)

    def give_back(self, hold: int) -> None:
        """Wait again, unless that hold was given back before."""
        if hold != self._hold:
            return
        with tickets.locked():
            mine = next(ticket for ticket in tickets.living() if ticket.id == self._record.id)
            tickets.put(msgspec.structs.replace(mine, holds=False, devices=()))

    def after(self) -> Reason | None:
        """Why another job keeps this one waiting; None once that has succeeded: it is in the queue now.

        Raises:
            Failed: it never will.
        """
        if self._record.request.after is None:
            return None
        reason = _before(self._folder.parent / self._record.request.after)
        if reason is not None:
            self.say(reason)
            if reason.final:
                raise Failed(reason.message)
            return reason
        with tickets.locked():
            mine = next(ticket for ticket in tickets.living() if ticket.id == self._record.id)
            tickets.put(msgspec.structs.replace(mine, ready=True))
        return None

    def say(self, reason: Reason | None) -> None:
        """Write down what it waits for, where doors read it; None: for nothing more."""
        if reason is None:
            (self._folder / jobfiles.WAITING).unlink(missing_ok=True)
            return
        text = msgspec.json.encode(reason)
        if text != self._said:
            part = self._folder / f".{jobfiles.WAITING}"
            part.write_bytes(text)
            part.rename(self._folder / jobfiles.WAITING)
            self._said = text


class First:
    """The first host: it hears all, lets all go, and tells the others of the head.

    Args:
        turn: its own.
        record: of the job.
        folder: of the job.
        others: whether there are other hosts.
    """

    def __init__(self, turn: Turn, record: JobRecord, folder: Path, others: bool) -> None:
        self._turn = turn
        self._record = record
        self._folder = folder
        self._names = [node.name for node in record.plan.nodes] if others else [record.plan.nodes[0].name]
        self._gang = gang.begin(len(self._names), time.monotonic())
        self._ports = gang.ports(record.id, network.port_range(record.profile.network.ports))
        self._context = zmq.asyncio.Context()
        self._curve: Curve | None = None
        self._socket: Any = None
        self._port = 0
        self._meeting = 0
        self._peers: dict[int, bytes] = {}
        self._know: set[int] = set()
        """Hosts that know how the head is reached."""
        if others:
            made = msgspec.json.decode((folder / jobfiles.GANG).read_bytes(), type=wire.GangKeys)
            self._curve = Curve(self._context, (made.keys, made.secret))
            self._socket, self._port = _listen(self._context, self._curve, self._ports[: gang.PORTS])

    async def wait(self) -> int:
        """Until all may go; the first port that ranks may meet at.

        Raises:
            Failed: it never will.
        """
        while self._turn.after() is not None:
            await asyncio.sleep(LOOK_S)
        while not self._gang.gone:
            await self._hear(self._turn.look(), b"")
            await self._listen_for(LOOK_S)
            if self._gang.gone:
                break
            reason = gang.why(self._gang, self._names, time.monotonic(), self._port)
            self._turn.say(reason)
            if reason.final:
                raise Failed(reason.message)
        self._turn.say(None)
        return self._meeting

    async def tell(self) -> None:
        """Answer those who have not heard yet, and tell all how the head is reached."""
        if self._socket is None:
            return
        until = time.monotonic() + HEAD_WITHIN_S
        while time.monotonic() < until and len(self._know) < len(self._names) - 1:
            await self._listen_for(LOOK_S)

    def close(self) -> None:
        """What was said still leaves."""
        if self._socket is not None:
            self._socket.close(linger=5000)
        if self._curve is not None:
            self._curve.close()
        self._context.term()

    async def _listen_for(self, seconds: float) -> None:
        if self._socket is None:
            await asyncio.sleep(seconds)
            return
        until = time.monotonic() + seconds
        while await self._socket.poll(max(0, int(1e3 * (until - time.monotonic())))):
            peer, data = await self._socket.recv_multipart()
            said = wire.said(data)
            if isinstance(said, wire.Asks):
                await self._lead(said, peer)
            else:
                await self._hear(said, peer)

    async def _lead(self, said: wire.Asks, peer: bytes) -> None:
        """Tell a host of the head, once that is there."""
        path = self._folder / jobfiles.ENDPOINTS
        if said.knows:
            self._know.add(said.node)
        elif path.exists():
            word = wire.HeadFound(path.read_bytes())
            await self._socket.send_multipart([peer, wire.encode(word)])

    async def _hear(self, said: wire.Stands, peer: bytes) -> None:
        if peer:
            self._peers[said.node] = peer
        self._gang, answers = gang.hear(self._gang, said, time.monotonic())
        if self._gang.gone and not self._meeting:  # not before: it may be taken while they wait
            left = self._ports[gang.PORTS :]
            self._meeting = next((port for port in left if _is_free(port)), left[0])
        for node, answer in answers.items():
            word: wire.Answer = wire.Heard()
            if answer == "go":
                word = wire.Go(self._meeting)
            elif answer == "return" and isinstance(said, wire.Holds):
                word = wire.Return(said.hold)
            if node == 0:
                if isinstance(word, wire.Return):
                    self._turn.give_back(word.hold)
            elif node in self._peers:
                await self._socket.send_multipart([self._peers[node], wire.encode(word)])


class Member:
    """Another host: it says where it stands, and does as the first one answers.

    Args:
        turn: its own.
        record: of the job.
        folder: of the job.
        node: which of its hosts this is.
    """

    def __init__(self, turn: Turn, record: JobRecord, folder: Path, node: int) -> None:
        self._turn = turn
        self._folder = folder
        self._node = node
        made = msgspec.json.decode((folder / jobfiles.GANG).read_bytes(), type=wire.GangKeys)
        first = record.plan.nodes[0]
        try:
            host = ipv6.host(ipv6.resolved(first.address or first.name))
        except OSError as error:
            raise Failed(
                f"{socket.gethostname()} does not know {first.address or first.name}: {error}."
            ) from None
        ports = gang.ports(record.id, network.port_range(record.profile.network.ports))[: gang.PORTS]
        self._place = f"{first.name} at port {ports[0]}"
        self._context = zmq.asyncio.Context()
        self._sockets = [self._connect(f"tcp://{host}:{port}", made.keys) for port in ports]
        """One for each port that it may have; the one alone, once that has answered."""

    async def wait(self) -> int:
        """Until all may go; the first port that ranks may meet at.

        Raises:
            Failed: the first host is not heard of.
        """
        heard, before, at = time.monotonic(), None, 0.0
        while time.monotonic() - heard < gang.SILENT_S:
            said = self._turn.look()
            if said != before or time.monotonic() - at > SAY_S:
                before, at = said, time.monotonic()
                await self._say(said)
            answer = await self._hear(LOOK_S)
            if answer is not None:
                heard = time.monotonic()
            if isinstance(answer, wire.Go):
                return answer.port
            if isinstance(answer, wire.Return):
                self._turn.give_back(answer.hold)
        raise Failed(f"{self._place} was not heard of for {gang.SILENT_S:.0f} s.")

    async def tell(self) -> None:
        """Write down how the head is reached, unless the first host's folder is this one, too."""
        path = self._folder / jobfiles.ENDPOINTS
        until = time.monotonic() + HEAD_WITHIN_S
        while time.monotonic() < until and not path.exists():
            await self._say(wire.Asks(self._node))
            answer = await self._hear(LOOK_S)
            if isinstance(answer, wire.HeadFound):
                part = path.with_suffix(".part")
                part.write_bytes(answer.endpoints)
                part.rename(path)
        await self._say(wire.Asks(self._node, knows=True))

    def close(self) -> None:
        """Nothing more is said."""
        for one in self._sockets:
            one.close(linger=2000)
        self._context.term()

    def _connect(self, url: str, keys: Keys) -> Any:
        made = self._context.socket(zmq.DEALER)
        made.immediate = True
        made.reconnect_ivl, made.reconnect_ivl_max = 200, 2000
        introduce(made, url, keys)
        made.connect(url)
        return made

    async def _say(self, said: wire.Said) -> None:
        for one in self._sockets:
            with contextlib.suppress(zmq.Again):  # nobody there yet: it is said again soon
                await one.send(wire.encode(said), flags=zmq.NOBLOCK)

    async def _hear(self, seconds: float) -> wire.Answer | None:
        poller = zmq.asyncio.Poller()
        for one in self._sockets:
            poller.register(one, zmq.POLLIN)
        found = await poller.poll(int(1e3 * seconds))
        if not found:
            return None
        answered = found[0][0]
        for one in self._sockets:
            if one is not answered:
                one.close(linger=0)
        self._sockets = [answered]
        return wire.answer(await answered.recv())


def _listen(context: zmq.Context[Any], curve: Curve, ports: Sequence[int]) -> tuple[Any, int]:
    """A socket at the first port that is free.

    Raises:
        Failed: none is.
    """
    for port in ports:
        made = context.socket(zmq.ROUTER)
        made.ipv6 = True
        curve.serve(made)
        try:
            made.bind(f"tcp://*:{port}")
        except zmq.ZMQError:
            made.close(linger=0)
            continue
        return made, port
    raise Failed(f"Ports {ports[0]} to {ports[-1]} are taken on {socket.gethostname()}.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def _before(other: Path) -> Reason | None:
    """The job that has to succeed first: None where it has, a final reason where it never will."""
    try:
        end = msgspec.json.decode((other / jobfiles.EXIT).read_bytes(), type=End)
    except FileNotFoundError:
        if tickets.script_of(other) is not None:
            return Reason(
                "after", f"It waits for the job {other.name}.", "It starts once that has succeeded."
            )
    else:
        if end.code == 0:
            return None
    text = f"The job {other.name}, which had to succeed first, did not."
    return Reason("after_failed", text, "Submit it again.", final=True)


async def run(folder: Path, node: int | None) -> int:
    """Wait, print what was found, and tell what the others need; 1 where the job will not start."""
    record = msgspec.json.decode((folder / jobfiles.JOB).read_bytes(), type=JobRecord)
    script = os.getppid()
    asyncio.get_running_loop().create_task(_end_with(script))
    turn = Turn(record, folder, node, script)
    mine: First | Member
    try:
        if node:
            mine = Member(turn, record, folder, node)
        else:
            mine = First(turn, record, folder, node is not None and len(record.plan.nodes) > 1)
    except Failed as error:
        print(f"dtrain-lab: {error}", file=sys.stderr)
        return 1
    try:
        port = await mine.wait()
        print(port, ",".join(turn.devices), flush=True)
        sys.stdout.close()
        await mine.tell()
    except Failed as error:
        print(f"dtrain-lab: {error}", file=sys.stderr)
        return 1
    finally:
        mine.close()
    return 0


async def _end_with(script: int) -> None:
    """Whoever waits for nobody's sake ends."""
    while os.getppid() == script:
        await asyncio.sleep(LOOK_S)
    os._exit(1)


def main(arguments: list[str]) -> int:
    """Entry point: `turn FOLDER [NODE]`."""
    return asyncio.run(run(Path(arguments[1]), int(arguments[2]) if len(arguments) > 2 else None))
