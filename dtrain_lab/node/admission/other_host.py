"""A further host of a job: reports its state to the first host, and follows its answers."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path
from typing import Any

import msgspec
import zmq
import zmq.asyncio

from dtrain_lab.errors import WireMismatch
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import atomic_files
from dtrain_lab.machine.net import ipv6
from dtrain_lab.machine.net.curve import introduce
from dtrain_lab.node.admission.ticket import HEAD_WITHIN_S, POLL_S, AdmissionFailed, HostTicket
from dtrain_lab.placement import network
from dtrain_lab.placement.slots import gang
from dtrain_lab.wire.jobs import gang as wire
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.processes.endpoints import Keys

REPORT_S = 1.0
"""Seconds after which a host repeats its state."""


class OtherHost:
    """A further host: reports its state to the first host, and follows its answers.

    Args:
        ticket: Its own ticket.
        record: The job's record.
        folder: The job's folder.
        node: Index of this host.
    """

    def __init__(self, ticket: HostTicket, record: JobRecord, folder: Path, node: int) -> None:
        self._ticket = ticket
        self._folder = folder
        self._node = node
        keys = msgspec.json.decode((folder / job_files.GANG).read_bytes(), type=wire.GangKeys)
        first = record.plan.nodes[0]
        try:
            host = ipv6.host(ipv6.resolved(first.address or first.name))
        except OSError as error:
            raise AdmissionFailed(
                f"{socket.gethostname()} does not know {first.address or first.name}: {error}."
            ) from None
        ports = gang.ports(record.id, network.port_range(record.profile.network.ports))[: gang.PORTS]
        self._place = f"{first.name} at port {ports[0]}"
        self._context = zmq.asyncio.Context()
        self._sockets = [self._connect(f"tcp://{host}:{port}", keys.keys) for port in ports]
        """Sockets for each port that the first host may use; after an answer, only the one that answered."""

    async def wait(self) -> int:
        """Wait until all hosts can start; returns the first port for the ranks' rendezvous.

        Raises:
            AdmissionFailed: The first host does not answer.
        """
        heard, before, at = time.monotonic(), None, 0.0
        while time.monotonic() - heard < gang.SILENT_S:
            message = self._ticket.poll()
            if message != before or time.monotonic() - at > REPORT_S:
                before, at = message, time.monotonic()
                await self._send(message)
            answer = await self._receive(POLL_S)
            if answer is not None:
                heard = time.monotonic()
            if isinstance(answer, wire.Start):
                return answer.port
            if isinstance(answer, wire.ReleaseReservation):
                self._ticket.give_back(answer.hold)
        raise AdmissionFailed(f"{self._place} was not heard from for {gang.SILENT_S:.0f} s.")

    async def exchange_endpoints(self) -> None:
        """Get the head's endpoints and write them, unless this host shares the first host's folder."""
        path = self._folder / job_files.ENDPOINTS
        until = time.monotonic() + HEAD_WITHIN_S
        while time.monotonic() < until and not path.exists():
            await self._send(wire.EndpointsQuery(self._node))
            answer = await self._receive(POLL_S)
            if isinstance(answer, wire.HeadFound):
                atomic_files.swap(path, answer.endpoints)
        await self._send(wire.EndpointsQuery(self._node, knows=True))

    def close(self) -> None:
        """Close the sockets; queued messages still leave."""
        for dealer in self._sockets:
            dealer.close(linger=2000)
        self._context.term()

    def _connect(self, url: str, keys: Keys) -> Any:
        dealer = self._context.socket(zmq.DEALER)
        dealer.immediate = True
        dealer.reconnect_ivl, dealer.reconnect_ivl_max = 200, 2000
        introduce(dealer, url, keys)
        dealer.connect(url)
        return dealer

    async def _send(self, message: wire.HostMessage) -> None:
        for dealer in self._sockets:
            with contextlib.suppress(zmq.Again):  # not connected yet; the message is repeated soon
                await dealer.send(wire.encode(message), flags=zmq.NOBLOCK)

    async def _receive(self, seconds: float) -> wire.Answer | None:
        poller = zmq.asyncio.Poller()
        for dealer in self._sockets:
            poller.register(dealer, zmq.POLLIN)
        readable = await poller.poll(int(1e3 * seconds))
        if not readable:
            return None
        answered = readable[0][0]
        for dealer in self._sockets:
            if dealer is not answered:
                dealer.close(linger=0)
        self._sockets = [answered]
        try:
            return wire.answer(await answered.recv())
        except WireMismatch:  # the request is repeated
            return None
