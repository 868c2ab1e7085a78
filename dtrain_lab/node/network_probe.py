"""Probes between nodes: listens for the others, and checks whether this node reaches them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

CONNECT_WITHIN_S = 1.2


class Listener:
    """Answers each connection with this node's nonce, so that no node mistakes itself for another."""

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce.encode()
        self._server: asyncio.Server | None = None

    async def open(self, address: str, ports: Sequence[int]) -> int:
        """Listen at an address.

        Args:
            address: IP address of this node.
            ports: Ports to try, in order; empty for any free one.

        Returns:
            The port.

        Raises:
            OSError: None of the ports is free.
        """
        error: OSError | None = None
        for port in ports or (0,):
            try:
                self._server = await asyncio.start_server(self._greet, address, port)
            except OSError as failure:
                error = failure
                continue
            return int(self._server.sockets[0].getsockname()[1])
        assert error is not None
        raise error

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _greet(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self._nonce)
        writer.close()


async def reaches(address: str, port: int, nonce: str) -> bool:
    """Whether this node can connect to an address, and the intended node answers there.

    Args:
        address: IP address of the other node.
        port: TCP port that it listens at.
        nonce: The nonce that identifies it.
    """
    try:
        async with asyncio.timeout(CONNECT_WITHIN_S):
            reader, writer = await asyncio.open_connection(address, port)
            answer = await reader.read(64)
            writer.close()
    except (OSError, TimeoutError):
        return False
    return answer == nonce.encode()


async def still_there(url: str, within_s: float) -> bool:
    """After a connection broke: whether the process at the other end still listens.

    A refused connection means no at once. Silence is waited out, because a network may come back.

    Args:
        url: "tcp://address:port" of the connection.
        within_s: Seconds to wait out silence.
    """
    address, _, port = url.removeprefix("tcp://").rpartition(":")
    loop = asyncio.get_running_loop()
    until = loop.time() + within_s
    while loop.time() < until:
        try:
            async with asyncio.timeout(CONNECT_WITHIN_S):
                _, writer = await asyncio.open_connection(address.strip("[]"), int(port))
                writer.close()
        except ConnectionRefusedError:
            return False
        except (OSError, TimeoutError):
            await asyncio.sleep(0.5)
        else:
            return True
    return False
