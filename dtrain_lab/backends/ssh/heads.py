"""Heads and node agents on hosts, started through SSH; they survive the connection."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence

import msgspec

from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.ssh.processes import HostProcess
from dtrain_lab.errors import StartFailed
from dtrain_lab.placement import activation
from dtrain_lab.wire.processes.endpoints import decode
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.status import Status

START_WITHIN_S = 60.0


class Head:
    """The head of a cluster, and the agents on its other hosts. Implements `backends.processes.Processes`.

    Args:
        cluster: Record of the cluster; with its head's settings, to start it.
        used: Hosts of the cluster.
    """

    def __init__(self, cluster: ClusterRecord, used: Sequence[str]) -> None:
        self._cluster = cluster
        self._used = used

    async def start(self, files: Mapping[str, bytes]) -> Handle:
        """Start the head on the first host, then the agents on the others."""
        cluster, used = self._cluster, self._used
        settings = msgspec.json.encode(cluster.settings)
        said = await _start(used[0], cluster, ["-m", "dtrain_lab.head"], settings)
        endpoints = decode(said.splitlines()[-1])
        stdin = msgspec.json.encode(endpoints)
        folder, pid, began = endpoints.directory, endpoints.pid, endpoints.started
        handle = Handle(cluster.id, used[0], pid, began, folder, endpoints=endpoints)
        joining = [
            _start(host, cluster, ["-m", "dtrain_lab.node", "join", "-", str(node)], stdin)
            for node, host in enumerate(used[1:], start=1)
        ]
        try:
            await asyncio.gather(*joining)
        except BaseException:
            await _process(handle).ask_to_end()
            raise
        return handle

    async def status(self) -> Status:
        """Return whether the head's process runs, and remove the folder that a killed head has left.

        Raises:
            Unreachable: The host does not answer.
        """
        handle = self._cluster.handle
        assert handle is not None
        if await _process(handle).runs():
            return Status("running")
        await ssh_connections.run(handle.host, f"rm -rf -- {shlex.quote(handle.directory)}")
        return Status("ended")

    async def cancel(self) -> None:
        """Ask the head to end its world."""
        assert self._cluster.handle is not None
        await _process(self._cluster.handle).ask_to_end()

    async def find(self) -> Handle | None:
        """Find the head on any of the profile's hosts; None if no host has its record."""
        cluster, among = self._cluster, self._cluster.profile.ssh.hosts
        line = f"cat -- {shlex.quote(cluster.directory)}/record.json"
        said = await asyncio.gather(*(ssh_connections.run(host, line) for host in among))
        for host, done in zip(among, said, strict=True):
            if done.code == 0:
                record = msgspec.json.decode(done.out)
                return Handle(cluster.id, host, record["pid"], record["started"], cluster.directory)
        return None


def _process(handle: Handle) -> HostProcess:
    return HostProcess(handle.host, f"pid={handle.pid}", "dtrain_lab.head")


async def _start(host: str, cluster: ClusterRecord, arguments: list[str], stdin: bytes) -> bytes:
    """Start a process that survives the connection; returns the first line of its output."""
    profile, plan = cluster.profile, cluster.plan
    command = [*activation.python(profile.environment, plan.python), "-P", *arguments]
    link = await ssh_connections.connection(host)
    started = ssh_connections.shell(profile, command)
    process = await link.create_process(f"setsid -w {started.line}", encoding=None)
    process.stdin.write(started.first + stdin)
    process.stdin.write_eof()
    try:
        async with asyncio.timeout(START_WITHIN_S):
            line = await process.stdout.readline()
            if line:
                return bytes(line)
            error = (await process.stderr.read()).decode("utf-8", "replace")
    except TimeoutError:
        raise StartFailed(f"{host} did not start in {START_WITHIN_S:.0f} s.", "Is it overloaded?") from None
    finally:
        process.close()
    last = [text for text in error.strip().splitlines() if text.strip()]
    raise StartFailed(f"{host}: {last[-1] if last else 'it exited at once without output'}", code="no_start")
