"""The first host of a job: collects the states of all hosts, and starts all at once."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import zmq
import zmq.asyncio

from dtrain_lab.errors import WireMismatch
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine.net import tcp
from dtrain_lab.machine.net.curve import Curve
from dtrain_lab.node.admission.ticket import HEAD_WITHIN_S, POLL_S, AdmissionFailed, HostTicket
from dtrain_lab.placement import network
from dtrain_lab.placement.slots import gang
from dtrain_lab.wire.jobs import gang as wire
from dtrain_lab.wire.jobs.job import JobRecord


class FirstHost:
    """The first host: collects the states of all, starts all, and sends the others the head's endpoints.

    Args:
        ticket: Its own ticket.
        record: The job's record.
        folder: The job's folder.
        others: Whether there are other hosts.
    """

    def __init__(self, ticket: HostTicket, record: JobRecord, folder: Path, others: bool) -> None:
        self._ticket = ticket
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
        """Hosts that have the head's endpoints."""
        if others:
            keys = msgspec.json.decode((folder / job_files.GANG).read_bytes(), type=wire.GangKeys)
            self._curve = Curve(self._context, (keys.keys, keys.secret))
            first = record.plan.nodes[0]
            # other hosts that know its name only may reach it by any interface
            interface = record.profile.network.interface if first.address else None
            at = tcp.addresses(interface, first.address or first.name)
            self._socket, self._port = _listen(self._context, self._curve, at, self._ports[: gang.PORTS])

    async def wait(self) -> int:
        """Wait until all hosts can start; returns the first port for the ranks' rendezvous.

        Raises:
            AdmissionFailed: The job will never start.
        """
        while self._ticket.after() is not None:
            await asyncio.sleep(POLL_S)
        while not self._gang.gone:
            await self._receive(self._ticket.poll(), b"")
            if self._gang.gone:  # there is room for all: no need to wait
                break
            await self._listen_for(POLL_S)
            if self._gang.gone:
                break
            reason = gang.why(self._gang, self._names, time.monotonic(), self._port)
            self._ticket.write_reason(reason)
            if reason.final:
                raise AdmissionFailed(reason.message)
        self._ticket.write_reason(None)
        return self._meeting

    async def exchange_endpoints(self) -> None:
        """Answer hosts that have not got the start yet, and send all the head's endpoints."""
        if self._socket is None:
            return
        until = time.monotonic() + HEAD_WITHIN_S
        while time.monotonic() < until and len(self._know) < len(self._names) - 1:
            await self._listen_for(POLL_S)

    def close(self) -> None:
        """Close the socket; queued messages still leave."""
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
            try:
                message = wire.host_message(data)
            except WireMismatch:  # foreign or damaged; hosts repeat their messages
                continue
            if isinstance(message, wire.EndpointsQuery):
                await self._lead(message, peer)
            else:
                await self._receive(message, peer)

    async def _lead(self, message: wire.EndpointsQuery, peer: bytes) -> None:
        """Send a host the head's endpoints, once they exist."""
        path = self._folder / job_files.ENDPOINTS
        if message.knows:
            self._know.add(message.node)
        elif path.exists():
            reply = wire.HeadFound(path.read_bytes())
            await self._socket.send_multipart([peer, wire.encode(reply)])

    async def _receive(self, message: wire.SlotsReport, peer: bytes) -> None:
        if peer:
            self._peers[message.node] = peer
        self._gang, answers = gang.receive(self._gang, message, time.monotonic())
        if self._gang.gone and not self._meeting:  # chosen late: a free port may be taken while hosts wait
            left = self._ports[gang.PORTS :]
            self._meeting = next((port for port in left if tcp.is_free(port)), left[0])
        for node, answer in answers.items():
            reply: wire.Answer = wire.Acknowledged()
            if answer == "go":
                reply = wire.Start(self._meeting)
            elif answer == "return" and isinstance(message, wire.Reserved):
                reply = wire.ReleaseReservation(message.hold)
            if node == 0:
                if isinstance(reply, wire.ReleaseReservation):
                    self._ticket.give_back(reply.hold)
            elif node in self._peers:
                await self._socket.send_multipart([self._peers[node], wire.encode(reply)])


def _listen(
    context: zmq.Context[Any], curve: Curve, addresses: Sequence[str], ports: Sequence[int]
) -> tuple[Any, int]:
    """Open a socket at the first free port.

    Args:
        context: ZeroMQ context.
        curve: Keys of the job.
        addresses: IP addresses of this host.
        ports: Ports to try, in order.

    Returns:
        The socket and its port.

    Raises:
        AdmissionFailed: None of the ports is free.
    """
    try:
        return tcp.listen(lambda: context.socket(zmq.ROUTER), addresses, ports, curve)
    except OSError as error:
        tried = f"ports {ports[0]} to {ports[-1]}"
        raise AdmissionFailed(f"{socket.gethostname()} can't listen at {tried}: {error}.") from None
