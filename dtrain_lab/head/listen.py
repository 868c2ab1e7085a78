"""Where a head listens: unix sockets, TCP addresses for other nodes, and the endpoints file."""

from __future__ import annotations

import os
import random
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from dtrain_lab.head.sockets import Router
from dtrain_lab.machine import atomic_files, logs, processes
from dtrain_lab.machine.net import tcp
from dtrain_lab.machine.net.curve import Curve
from dtrain_lab.placement import network
from dtrain_lab.wire.processes.endpoints import Endpoints

STDOUT = "-"


@dataclass(frozen=True)
class Listening:
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
    where: Listening, identity: str, directory: Path, link: Router, client: Router, curve: Curve
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
        logs.take_streams(directory / "head.log")  # the streams end with the process that started this head
    else:
        atomic_files.replace(Path(where.file), data)


def forget_keys(file: str) -> None:
    """Remove the endpoints file: all agents have joined, or the world is over."""
    if file != STDOUT:
        Path(file).unlink(missing_ok=True)


def candidates(allowed: range | None) -> Sequence[int]:
    """Ports to try, in random order, as one node may run several worlds; without a range, free ports."""
    if allowed is None:
        return [_any_free() for _ in range(20)]
    return random.sample(allowed, len(allowed))


def free(address: str, count: int, allowed: range | None) -> list[int]:
    """Find ports that are free at an address now.

    Args:
        address: IP address to bind to.
        count: Number of ports.
        allowed: Range to choose from; None for any port.

    Raises:
        OSError: Fewer than `count` ports are free.
    """
    found: list[int] = []
    for port in candidates(allowed) if allowed is not None else (_any_free() for _ in range(4 * count)):
        if port not in found and tcp.is_free(port, address):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"{count} free ports are needed at {address}, but only {len(found)} are available")


def _any_free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
