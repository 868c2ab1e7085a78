"""Where a head listens: unix sockets, TCP addresses for other nodes, and the endpoints file."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from dtrain_lab.head.sockets import Router
from dtrain_lab.machine import atomic_files, processes
from dtrain_lab.machine.logs import event_logs
from dtrain_lab.machine.net import tcp
from dtrain_lab.machine.net.curve import Curve
from dtrain_lab.machine.net.tcp import candidates
from dtrain_lab.placement import network
from dtrain_lab.wire.processes.endpoints import Endpoints

STDOUT = "-"


@dataclass(frozen=True)
class ListenSettings:
    """Where a head should listen and publish its endpoints.

    `file`: the endpoints file, mode 0600; "-" for stdout. `beyond`: also listen for other nodes.
    `interface` and `ports` are the profile's. `variables`: environment variables of the ranks.
    """

    file: str
    beyond: bool
    interface: str | None = None
    ports: str | None = None
    variables: dict[str, str] = field(default_factory=dict)


def publish(
    where: ListenSettings, identity: str, directory: Path, link: Router, client: Router, curve: Curve
) -> None:
    """Listen, and publish the endpoints.

    Args:
        where: What to listen on, and where to publish it.
        identity: Id of the world.
        directory: Folder of the unix sockets.
        link: Socket for agents and ranks.
        client: Socket for clients.
        curve: Keys of the world.

    Raises:
        OSError: No port of the profile's range is free.
    """
    allowed = network.port_range(where.ports)
    opened: list[tuple[str, ...]] = [(), ()]
    if where.beyond:
        addresses = tcp.addresses(where.interface)
        opened = [router.open_tcp(addresses, candidates(allowed), curve) for router in (link, client)]
    endpoints = Endpoints(
        id=identity,
        host=socket.gethostname(),
        python=sys.executable,
        pid=os.getpid(),
        started=processes.started(),
        directory=str(directory),
        link=opened[0],
        client=opened[1],
        keys=curve.keys,
        variables=where.variables,
    )
    data = msgspec.json.encode(endpoints)
    if where.file == STDOUT:
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.flush()
        # the streams end with the process that started this head
        event_logs.take_streams(directory / "head.log")
    else:
        atomic_files.replace(Path(where.file), data)


def forget_keys(file: str) -> None:
    """Remove the endpoints file: all agents have joined, or the world is over."""
    if file != STDOUT:
        Path(file).unlink(missing_ok=True)
