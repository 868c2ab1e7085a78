"""SSH forwards, restored at the same local address when their connection was lost."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.errors import Unreachable

Key = tuple[str, str]
"""Host, and the target as seen from there."""


class Forwards:
    """SSH forwards of this process; a restored forward keeps its local end, so that users don't notice."""

    def __init__(self) -> None:
        self._links: dict[Key, Any] = {}
        self._paths: dict[Key, str] = {}
        self._ports: dict[Key, int] = {}

    async def path(self, host: str, target: str) -> str:
        """Return the path of a local unix socket that is forwarded to one on a host.

        Args:
            host: The host, as SSH knows it.
            target: Path of the socket on the host.

        Raises:
            Unreachable: The host refuses the forward, or can't be reached.
        """
        import asyncssh

        key = host, target
        if key not in self._paths:
            self._paths[key] = f"{tempfile.mkdtemp(prefix='dtl-')}/client"
        path = self._paths[key]
        link = await ssh_connections.connection(host)
        if self._links.get(key) is not link:
            if os.path.exists(path):
                os.unlink(path)
            try:
                await link.forward_local_path(path, target)
            except (asyncssh.Error, OSError) as error:
                raise Unreachable(f"Can't connect to {target} on {host}: {error}.", "Try again.") from error
            self._links[key] = link
        return path

    async def port(self, host: str, address: str, port: int) -> int:
        """Return a loopback port that is forwarded through a host to an address.

        Args:
            host: The host through which the connection goes, as SSH knows it.
            address: The address, as seen from the host.
            port: The port at that address.

        Raises:
            Unreachable: The host refuses the forward, or can't be reached.
        """
        import asyncssh

        key = host, f"{address}:{port}"
        link = await ssh_connections.connection(host)
        if self._links.get(key) is not link:
            try:
                wanted = self._ports.get(key, 0)
                listener = await link.forward_local_port("127.0.0.1", wanted, address, port)
            except (asyncssh.Error, OSError) as error:
                raise Unreachable(f"Can't reach {key[1]} through {host}: {error}.", "Try again.") from error
            self._ports[key] = listener.get_port()
            self._links[key] = link
        return self._ports[key]
