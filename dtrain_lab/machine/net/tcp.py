"""Listening on TCP: at addresses of this machine, for holders of keys only."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import zmq

from dtrain_lab.machine.facts import interfaces
from dtrain_lab.machine.net import ipv6, tcp
from dtrain_lab.machine.net.curve import Curve


def addresses(interface: str | None, name: str = "") -> list[str]:
    """Choose the addresses at which others reach this machine; loopback if it has no network.

    Args:
        interface: Name of the only interface to use; None for all.
        name: Name or address by which others are known to connect: its addresses are used, too.
    """
    local_interfaces = interfaces()
    local = {i.address for i in local_interfaces}
    chosen = {i.address for i in local_interfaces if interface in (None, i.name)}
    return sorted(chosen | (local & _addresses_of(name))) or ["127.0.0.1"]


def is_free(port: int, address: str = "") -> bool:
    """Whether a server could listen on a port of this machine now.

    Args:
        port: Port number.
        address: IP address of this machine; empty for all IPv4 addresses.
    """
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def _addresses_of(name: str) -> set[str]:
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)} if name else set()
    except OSError:  # this machine may not know the name that others have for it
        return set()


def listen(
    make: Callable[[], zmq.Socket[Any]], at: Sequence[str], ports: Iterable[int], curve: Curve
) -> tuple[zmq.Socket[Any], int]:
    """Listen at the first port that is free on all addresses; only holders of the keys can connect.

    Args:
        make: Makes a socket.
        at: IP addresses of this machine.
        ports: Ports to try, in order.
        curve: The keys.

    Returns:
        The socket and its port.

    Raises:
        OSError: No port is free on all of them.
    """
    error: Exception | None = None
    for port in ports:
        listening = make()
        curve.serve(listening)
        try:
            for address in at:
                listening.ipv6 = ":" in address
                listening.bind(f"tcp://{ipv6.host(address)}:{port}")
        except zmq.ZMQError as failure:
            listening.close(linger=0)
            error = failure
            continue
        return listening, port
    raise OSError(f"no port is free: {error}")


CONNECT_WITHIN_S = 2.0


async def first_reachable(urls: Sequence[str]) -> str | None:
    """The first "tcp://address:port" URL that accepts a connection; None if none does.

    Callers leave out addresses that this node has as well, since those don't lead to another node.
    """

    async def works(url: str) -> str | None:
        address, _, port = url.removeprefix("tcp://").rpartition(":")
        try:
            async with asyncio.timeout(CONNECT_WITHIN_S):
                _, writer = await asyncio.open_connection(address.strip("[]"), int(port))
                writer.close()
        except (OSError, TimeoutError):
            return None
        return url

    for url in await asyncio.gather(*(works(url) for url in urls)):
        if url is not None:
            return url
    return None


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
    ports: list[int] = []
    for port in candidates(allowed) if allowed is not None else (_any_free() for _ in range(4 * count)):
        if port not in ports and tcp.is_free(port, address):
            ports.append(port)
        if len(ports) == count:
            return ports
    raise OSError(f"{count} free ports are needed at {address}, but only {len(ports)} are available")


def _any_free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
