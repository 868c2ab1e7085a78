"""A bridge to a socket on a node whose ports are closed: bytes pass through a step of the scheduler's job.

Each connection to the local end starts a process of its own, whose stdin and stdout carry the bytes.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Sequence

from dtrain_lab.backends.hosts.local_transport import filtered_environment

PIECE = 1 << 16


class Bridge:
    """Local ends of one remote socket.

    Args:
        command: Program and arguments that connect stdin and stdout to the socket
            (`python -m dtrain_lab.node bridge`).
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._opening = asyncio.Lock()
        self._servers: list[asyncio.Server] = []
        self._port = 0
        self.path = ""

    async def listen(self) -> None:
        """Open the local end, unless it is open: a unix socket in a folder that only this user can enter.

        Raises:
            OSError: It can't be opened now; nothing is left of the attempt.
        """
        async with self._opening:
            if self.path:
                return
            folder = tempfile.mkdtemp(prefix="dtl-")
            try:
                self._servers.append(await asyncio.start_unix_server(self._carry, f"{folder}/socket"))
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self.path = f"{folder}/socket"

    async def listen_tcp(self) -> int:
        """Open a local end on loopback and return its port; only for protocols with authentication."""
        async with self._opening:
            if not self._port:
                server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
                self._servers.append(server)
                self._port = int(server.sockets[0].getsockname()[1])
            return self._port

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=filtered_environment(),
            # an interrupt of a kernel or terminal goes to its process group, and ends no connection
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        pumps = [
            asyncio.create_task(_pump(reader, process.stdin)),
            asyncio.create_task(_pump(process.stdout, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            writer.close()
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
    except (ConnectionError, BrokenPipeError):  # the other end has closed: close this one too
        return
