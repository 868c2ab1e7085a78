"""IPv6 for ZeroMQ: addresses in URLs, and sockets that support it."""

from __future__ import annotations

import socket
from functools import cache
from typing import Any

import zmq


def host(address: str) -> str:
    """An address in the form needed in a URL: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def resolved(name: str) -> str:
    """Resolve a name to the address that this machine prefers; ZeroMQ would try only one address family.

    Raises:
        OSError: The name has no address.
    """
    return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])


@cache
def context() -> zmq.Context[Any]:
    """This process's context, whose sockets support IPv4 and IPv6."""
    zmq_context: zmq.Context[Any] = zmq.Context()
    zmq_context.set(zmq.IPV6, 1)
    return zmq_context
