"""Heads and node agents on hosts, started through SSH; they survive the connection."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dtrain_lab.backends import ssh_connections
from dtrain_lab.backends.ssh.processes import HostProcess
from dtrain_lab.errors import StartFailed
from dtrain_lab.placement import activation
from dtrain_lab.wire.processes.endpoints import decode
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.status import Status

START_WITHIN_S = 60.0


async def start(cluster: ClusterRecord, used: Sequence[str]) -> Handle:
    """Start the head on the first host, then the agents on the others.

    Args:
        cluster: Record of the cluster, with its head's settings.
        used: Hosts of the cluster.
    """
    settings = cluster.settings
    assert settings is not None
    assert settings.remote is not None
    settings = replace(settings, remote=replace(settings.remote, endpoints="-", own_agent=True))
    said = await _start(used[0], cluster, ["-m", "dtrain_lab.head"], msgspec.json.encode(settings))
    endpoints = decode(said.splitlines()[-1])
    stdin = msgspec.json.encode(endpoints)
    directory = endpoints.directory
    handle = Handle(cluster.id, used[0], endpoints.pid, endpoints.started, directory, endpoints=endpoints)
    joining = [
        _start(host, cluster, ["-m", "dtrain_lab.node", "join", "-", str(node)], stdin)
        for node, host in enumerate(used[1:], start=1)
    ]
    try:
        await asyncio.gather(*joining)
    except BaseException:
        await cancel(replace(cluster, handle=handle))
        raise
    return handle


async def status(cluster: ClusterRecord) -> Status:
    """Return whether the head's process runs, and remove the folder that a killed head has left.

    Raises:
        Unreachable: The host does not answer.
    """
    handle = cluster.handle
    assert handle is not None
    if await _process(handle).runs():
        return Status("running")
    await ssh_connections.run(handle.host, f"rm -rf -- {shlex.quote(handle.directory)}")
    return Status("ended")


async def cancel(cluster: ClusterRecord) -> None:
    """Ask the head to end its world."""
    assert cluster.handle is not None
    await _process(cluster.handle).ask_to_end()


def _process(handle: Handle) -> HostProcess:
    return HostProcess(handle.host, f"pid={handle.pid}", "dtrain_lab.head")


async def find(cluster: ClusterRecord, among: Sequence[str]) -> Handle | None:
    """Find a head on one of the hosts.

    Args:
        cluster: The cluster.
        among: Hosts to search.

    Returns:
        The head's process; None if no host has its record.
    """
    line = f"cat -- {shlex.quote(cluster.directory)}/record.json"
    said = await asyncio.gather(*(ssh_connections.run(host, line) for host in among))
    for host, done in zip(among, said, strict=True):
        if done.code == 0:
            record = msgspec.json.decode(done.out)
            return Handle(cluster.id, host, record["pid"], record["started"], cluster.directory)
    return None


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
