"""IPv6 in ipyparallel's processes: addresses in URLs, and sockets that speak it."""

from __future__ import annotations

import socket
from functools import cache
from typing import Any

import zmq


def host(address: str) -> str:
    """An address as it stands in a URL."""
    return f"[{address}]" if ":" in address else address


def resolved(name: str) -> str:
    """The address that this machine prefers for a name: of one with both, ZeroMQ would try one kind alone.

    Raises:
        OSError: there is none.
    """
    return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])


@cache
def context() -> zmq.Context[Any]:
    """This process's context whose sockets speak both."""
    made: zmq.Context[Any] = zmq.Context()
    made.set(zmq.IPV6, 1)
    return made


def in_every_context() -> None:
    """Have what this process makes from now on speak both.

    ipyparallel's controller, its children and the heart of an engine make contexts of their own, which
    nobody else can reach.
    """
    plain = zmq.Context.__init__

    def make(self: zmq.Context[Any], *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        self.set(zmq.IPV6, 1)

    zmq.Context.__init__ = make  # type: ignore[method-assign]
