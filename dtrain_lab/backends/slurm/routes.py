"""Routes to a head on a Slurm node: over TCP, through the login node, or through a step of the job."""

from __future__ import annotations

import asyncio
from typing import Any

from dtrain_lab.backends.base import HeadAddress
from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.hosts.bridge import Bridge
from dtrain_lab.backends.hosts.ssh_forwards import Forwards
from dtrain_lab.errors import Unreachable
from dtrain_lab.machine.net.tcp import first_reachable
from dtrain_lab.placement import activation
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.submission import Submission


class Routes:
    """Routes with a fixed local end, so that users don't notice when a route is restored."""

    def __init__(self) -> None:
        self._forwards = Forwards()
        self._bridges: dict[tuple[str, str], Bridge] = {}

    async def to_client(self, submission: Submission, endpoints: Endpoints) -> HeadAddress:
        """Return an address of the head's client socket.

        Args:
            submission: The cluster or job.
            endpoints: Addresses and keys that its head has written.

        Raises:
            Unreachable: The login node can't reach the head.
        """
        login = submission.profile.ssh.login
        if login is None:
            url = await first_reachable(endpoints.client)
            if url is not None:
                return HeadAddress(url, endpoints.keys)
            bridge = await self._bridge(submission, endpoints, f"unix:{endpoints.directory}/client")
            return HeadAddress(f"ipc://{bridge.path}")
        link = await ssh_connections.connection(login)
        for url in endpoints.client:
            address, _, port = url.removeprefix("tcp://").rpartition(":")
            if await _answers(link, address.strip("[]"), int(port)):
                mine = await self._forwards.port(login, address.strip("[]"), int(port))
                return HeadAddress(f"tcp://127.0.0.1:{mine}", endpoints.keys)
        raise Unreachable(
            f"{login} can't reach {endpoints.host} at {', '.join(endpoints.client)}.",
            "Open these ports from the login node, or set [network] ports in the profile.",
        )

    async def to_port(self, submission: Submission, endpoints: Endpoints, port: str) -> HeadAddress:
        """Return a local address for "address:port" on the head's node.

        Args:
            submission: The cluster or job.
            endpoints: Addresses and keys that its head has written.
            port: The address, as seen from the head's node.
        """
        login = submission.profile.ssh.login
        address, _, number = port.rpartition(":")
        if login is not None:
            return HeadAddress(f"tcp://127.0.0.1:{await self._forwards.port(login, address, int(number))}")
        if await first_reachable([f"tcp://{port}"]):
            return HeadAddress(f"tcp://{port}")
        bridge = await self._bridge(submission, endpoints, f"tcp:{port}")
        return HeadAddress(f"tcp://127.0.0.1:{await bridge.listen_tcp()}")

    async def _bridge(self, submission: Submission, endpoints: Endpoints, target: str) -> Bridge:
        assert submission.handle is not None
        key = submission.id, target
        if key not in self._bridges:
            python = activation.python(submission.profile.environment, endpoints.python)
            command = ["srun", f"--jobid={submission.handle.job}", "--overlap", "--nodes=1", "--ntasks=1"]
            command += ["--quiet", f"--nodelist={endpoints.host.split('.')[0]}", "--unbuffered", "--mem=0"]
            command += [*python, "-P", "-m", "dtrain_lab.node", "bridge", target]
            self._bridges[key] = Bridge(command)
        bridge = self._bridges[key]
        await bridge.listen()  # also if an earlier attempt failed
        return bridge


async def _answers(link: Any, address: str, port: int) -> bool:
    """Return whether the login node can connect to an address."""
    import asyncssh

    try:
        async with asyncio.timeout(3.0):
            _, writer = await link.open_connection(address, port)
            writer.close()
    except (TimeoutError, OSError, asyncssh.Error):
        return False
    return True
