"""A head that others reach over the network: it listens with CURVE, and says where in a file."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dtrain_lab.core import network
from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.head import ports
from dtrain_lab.head.settings import Remote
from dtrain_lab.head.sockets import Router
from dtrain_lab.machine import interfaces, processes
from dtrain_lab.machine.curve import Curve

if TYPE_CHECKING:
    from dtrain_lab.head.main import Head


def open_to_others(head: Head, curve: Curve, link: Router, door: Router) -> None:
    """Listen on this node's addresses, and say where: in a file, or on stdout for "-".

    Raises:
        OSError: no port of the profile's range is free.
    """
    remote = head.settings.remote
    assert remote is not None
    allowed = network.port_range(remote.ports)
    found = [i for i in interfaces() if remote.interface in (None, i.name)]
    addresses = sorted({i.address for i in found}) or ["127.0.0.1"]
    endpoints = Endpoints(
        id=head.settings.id,
        host=socket.gethostname(),
        python=sys.executable,
        pid=os.getpid(),
        started=processes.started(),
        directory=str(head.directory),
        link=link.open_tcp(addresses, ports.candidates(allowed), curve),
        door=door.open_tcp(addresses, ports.candidates(allowed), curve),
        keys=curve.keys,
        variables=remote.launch.plan.variables,
    )
    if remote.endpoints == "-":
        sys.stdout.buffer.write(msgspec.json.encode(endpoints) + b"\n")
        sys.stdout.flush()
        _leave_streams(head.directory / "head.log")
        return
    write(endpoints, Path(remote.endpoints))


def write(endpoints: Endpoints, path: Path) -> None:
    """Say where a head listens, to whoever may read the file: 0600, it holds the world's keys."""
    part = path.with_suffix(".part")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(msgspec.json.encode(endpoints))
    part.rename(path)


def forget_keys(remote: Remote) -> None:
    """The file has served: all agents have joined, or the world is over."""
    if remote.endpoints != "-":
        Path(remote.endpoints).unlink(missing_ok=True)


def _leave_streams(log: Path) -> None:
    """Whoever started this head may go: what it says from here on goes to its log."""
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(target, number)
    os.close(target)
