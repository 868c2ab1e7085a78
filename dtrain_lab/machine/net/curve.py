"""CURVE authentication over TCP: only holders of a world's or job's client key may connect."""

from __future__ import annotations

from typing import Any

import zmq

from dtrain_lab.wire.codec.chunks import SOCKET_LIMIT
from dtrain_lab.wire.processes.endpoints import Keys

DOMAIN = "dtrain-lab"
HANDSHAKE_MS = 5000
"""Milliseconds to prove the key before a peer is disconnected (ZeroMQ's own limit is 30 s)."""


class Curve:
    """Authenticates every connection of the served sockets.

    Args:
        context: ZeroMQ context of these sockets.
        made: Keys, and the server's secret key; by default new ones.
    """

    def __init__(self, context: zmq.Context[Any], made: tuple[Keys, str] | None = None) -> None:
        from zmq.auth.asyncio import AsyncioAuthenticator  # slow to import, and needed only by a server

        self.keys, self._secret = made or new_keys()
        self._authenticator = AsyncioAuthenticator(context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback(DOMAIN, self)

    def callback(self, domain: str, key: bytes) -> bool:
        """Called by ZeroMQ: whether a client may connect.

        Args:
            domain: ZAP domain of the socket.
            key: The client's public key (Z85).
        """
        return domain == DOMAIN and key.decode() == self.keys.client

    def serve(self, socket: zmq.Socket[bytes]) -> None:
        """Require authentication on a socket; to be called before it is bound."""
        socket.zap_domain = DOMAIN.encode()
        # limits what a peer without a key can use of our memory and time
        socket.maxmsgsize = SOCKET_LIMIT
        socket.handshake_ivl = HANDSHAKE_MS
        socket.curve_server = True
        socket.curve_secretkey = self._secret.encode()

    def close(self) -> None:
        """Stop the authenticator."""
        self._authenticator.stop()


def new_keys() -> tuple[Keys, str]:
    """Make keys for clients, and the server's secret key."""
    public, secret = zmq.curve_keypair()
    client, client_secret = zmq.curve_keypair()
    return Keys(public.decode(), client.decode(), client_secret.decode()), secret.decode()


def introduce(socket: zmq.Socket[Any], url: str, keys: Keys) -> None:
    """Set the keys on a client's socket for a URL; to be called before it connects.

    Args:
        socket: The client's socket.
        url: Address to which it will connect; with brackets, it is IPv6.
        keys: The world's keys.
    """
    socket.ipv6 = "[" in url
    socket.curve_serverkey = keys.server.encode()
    socket.curve_publickey = keys.client.encode()
    socket.curve_secretkey = keys.client_secret.encode()
