"""Who may connect over TCP: holders of the client key of a world, or of a job, and nobody else."""

from __future__ import annotations

from typing import Any

import zmq

from dtrain_lab.core.endpoints import Keys

DOMAIN = "dtrain-lab"


class Curve:
    """The check of every connection.

    Args:
        context: of the sockets that are guarded.
        made: keys, and the secret one of who listens; new ones are made where there are none.
    """

    def __init__(self, context: zmq.Context[Any], made: tuple[Keys, str] | None = None) -> None:
        from zmq.auth.asyncio import AsyncioAuthenticator  # only who listens pays for it

        self.keys, self._secret = made or new_keys()
        self._authenticator = AsyncioAuthenticator(context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback(DOMAIN, self)

    def callback(self, domain: str, key: bytes) -> bool:
        """ZeroMQ asks whether a client's key (Z85) is good."""
        return domain == DOMAIN and key.decode() == self.keys.client

    def serve(self, socket: zmq.Socket[bytes]) -> None:
        """Guard a socket; before it is bound."""
        socket.zap_domain = DOMAIN.encode()
        socket.curve_server = True
        socket.curve_secretkey = self._secret.encode()

    def close(self) -> None:
        """Stop answering ZeroMQ."""
        self._authenticator.stop()


def new_keys() -> tuple[Keys, str]:
    """Keys for those who are let in, and the secret one of who listens."""
    public, secret = zmq.curve_keypair()
    client, client_secret = zmq.curve_keypair()
    return Keys(public.decode(), client.decode(), client_secret.decode()), secret.decode()


def introduce(socket: zmq.Socket[Any], url: str, keys: Keys) -> None:
    """Give a socket what lets it in at a URL; before it connects."""
    socket.ipv6 = "[" in url
    socket.curve_serverkey = keys.server.encode()
    socket.curve_publickey = keys.client.encode()
    socket.curve_secretkey = keys.client_secret.encode()
