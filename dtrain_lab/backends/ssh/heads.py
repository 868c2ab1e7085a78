"""Heads and node agents on hosts, started through SSH; they survive the connection."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence

import msgspec

from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.ssh.processes import HostProcess, unsaid
from dtrain_lab.errors import StartFailed
from dtrain_lab.placement import activation
from dtrain_lab.wire.processes.endpoints import Endpoints, Keys, decode
from dtrain_lab.wire.processes.head_record import Handle, HeadRecord
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.status import Status

START_WITHIN_S = 60.0
NO_RECORD = b"null"
SHOW_RECORD = f"""
import sys
from dtrain_lab.machine.folders import sockets
file = sockets() / sys.argv[1] / "record.json"
print(file.read_text() if file.exists() else "{NO_RECORD.decode()}")
"""
"""Prints the record of a head by its id; in the environment of its profile, where its folder is known."""


class HeadProcess:
    """The process of a cluster's head, and those of the agents on its other hosts.

    Implements `backends.processes.Processes`.

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
        output = await _start(used[0], cluster, ["-m", "dtrain_lab.head"], settings)
        endpoints = decode(output.splitlines()[-1])
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
        """Find the head on its host, by its id; None if the host has no record of it.

        Raises:
            Unreachable: The host does not say whether it has one.
        """
        cluster, host = self._cluster, self._used[0]
        python = activation.python(cluster.profile.environment, cluster.plan.python)
        line = ssh_connections.shell(cluster.profile, [*python, "-P", "-c", SHOW_RECORD, cluster.id])
        done = await ssh_connections.run(host, *line)
        if done.code:
            raise unsaid(host, done)
        text = done.out.strip().rpartition(b"\n")[2]  # start-up files may have printed lines before it
        if text == NO_RECORD:
            return None
        record = msgspec.json.decode(text, type=HeadRecord)
        pid, began, folder = record.pid, record.started, record.directory
        no_keys = Keys("", "", "")  # clients use its unix socket
        endpoints = Endpoints(
            cluster.id, record.host, cluster.plan.python, pid, began, folder, (), (), no_keys
        )
        return Handle(cluster.id, host, pid, began, folder, endpoints=endpoints)


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
    raise StartFailed(
        f"{host}: {last[-1] if last else 'the head ended at once without output'}",
        f"Check the environment there: ssh {host}",
        code="no_start",
    )
