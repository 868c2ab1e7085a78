"""Who may connect over TCP: holders of the world's client key, and nobody else."""

from __future__ import annotations

import zmq
from zmq.auth.asyncio import AsyncioAuthenticator

from dtrain_lab.core.endpoints import Keys

DOMAIN = "dtrain-lab"


class Curve:
    """Keys of a world, made anew for each, and the check of every connection.

    Args:
        context: of the sockets that are guarded.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        public, self._secret = zmq.curve_keypair()
        client, client_secret = zmq.curve_keypair()
        self.keys = Keys(public.decode(), client.decode(), client_secret.decode())
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
        socket.curve_secretkey = self._secret

    def close(self) -> None:
        """Stop answering ZeroMQ."""
        self._authenticator.stop()
