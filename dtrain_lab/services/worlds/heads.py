"""Starts heads, on this machine without ranks, on other machines with their world; and ends them."""

from __future__ import annotations

import asyncio
import getpass
import secrets
import shutil
import socket
import time

import msgspec

from dtrain_lab.backends.base import UNSURE, Backend
from dtrain_lab.errors import DtrainError, StartFailed, Unreachable
from dtrain_lab.services import endings, paths
from dtrain_lab.services.connection import NO_ANSWER, ClusterConnection, head_records
from dtrain_lab.services.connection.remote_cluster import cancel
from dtrain_lab.services.policy import backends, options, policy
from dtrain_lab.services.profiles import environment
from dtrain_lab.services.worlds import cluster_folder
from dtrain_lab.wire import VERSION, clients
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.plan import NodeFacts, Plan, Request
from dtrain_lab.wire.processes.head_record import Handle, HeadRecord, Server, SubmittedWorld
from dtrain_lab.wire.processes.settings import HeadSettings, SubmittedHead
from dtrain_lab.wire.processes.submission import ClusterRecord, of_head
from dtrain_lab.wire.profile import Profile

HEAD_WITHIN_S = 20.0
STOP_ANSWER_S = 15.0
"""Time within which a head has to receive the request to stop."""
POLL_S = 0.01


async def submit(plan: Plan, profile: Profile, request: Request, name: str, *, server: Server) -> HeadRecord:
    """Submit a head with its world to a back-end of other machines, where it may be queued for hours.

    The record is written first. So whatever ends this process meanwhile, clients find the world by its id.

    Args:
        plan: Plan of the world.
        profile: Its profile.
        request: The request.
        name: Name of the world.
        server: The Jupyter server that this client belongs to, if any.

    Returns:
        The record by which clients find it, written here.

    Raises:
        DtrainError: It was refused, and its record removed; or it may have been accepted (`UNSURE`).
        StartFailed: A client has stopped it meanwhile.
    """
    identity = secrets.token_hex(6)
    backend = backends.backend(profile.backend)
    owner = getpass.getuser()
    remote = SubmittedHead(
        clients.Launch(plan, request, name, owner),
        endpoints="",
        ports=profile.network.ports,
        interface=profile.network.interface,
        idle_s=policy.current().idle_limit_s,
    )
    settings = HeadSettings(
        identity,
        directory="",
        record="",
        environment="",
        node=NodeFacts(name=plan.nodes[0].name, address="", cpus=1, gpus=0, memory_bytes=0),
        variables=plan.variables,
        remote=remote,
    )
    made = ClusterRecord(identity, name, profile, plan, settings=settings)
    made, files = await cluster_folder.prepared(made, backend)
    record = HeadRecord(
        id=identity,
        name=name,
        host=socket.gethostname(),
        directory=made.directory,
        created_at=time.time(),
        version=VERSION,
        server=server.pid,
        server_started=server.started,
        remote=SubmittedWorld(profile, plan, None, owner),
    )
    head_records.write(record)
    try:
        handle = await backend.submit(made, files)
    except DtrainError as error:
        if error.code != UNSURE:
            head_records.forget(identity)
        raise
    return await _accepted(record, handle, backend)


async def _accepted(record: HeadRecord, handle: Handle, backend: Backend) -> HeadRecord:
    """Save that a world was accepted, unless another client has found it, or has stopped it, meanwhile."""
    known = head_records.read(record.id)
    if known is not None and known.remote is not None and known.remote.handle is not None:
        return known
    assert record.remote is not None
    remote = msgspec.structs.replace(record.remote, handle=handle)
    record = msgspec.structs.replace(record, directory=handle.directory, remote=remote)
    head_records.write(record)
    if known is None:
        await backend.cancel(of_head(record))  # if that fails, the record is there again
        head_records.forget(record.id)
        raise StartFailed(f"{record.name} was stopped while it was submitted.", "", code="stopped")
    return record


async def spawn(plan: Plan, profile: Profile, *, server: Server, heir: str | None = None) -> HeadRecord:
    """Start a head without ranks on this machine, and wait for its record.

    Args:
        plan: Plan of the ranks that it will have.
        profile: Their profile.
        server: The Jupyter server that this client belongs to, if any.
        heir: Id of the new head, if it takes over the fork server of a head that ends.

    Raises:
        StartFailed: It ended at once, or does not answer; or its folder has no room.
    """
    identity = heir or secrets.token_hex(6)
    folder = paths.sockets()
    try:
        return await _spawn(plan, profile, identity, server=server, inherits=heir is not None)
    except OSError as error:
        shutil.rmtree(folder / identity, ignore_errors=True)
        head_records.forget(identity)
        raise paths.not_writable(folder, error) from error


async def _spawn(
    plan: Plan, profile: Profile, identity: str, *, server: Server, inherits: bool
) -> HeadRecord:
    directory = paths.private(paths.sockets() / identity)
    record = head_records.path_of(identity)
    backend = backends.backend(profile.backend)
    facts = await backend.facts(profile)
    assert isinstance(facts, NodeFacts)
    settings = HeadSettings(
        identity,
        directory=str(directory),
        record=str(record),
        environment=environment.key(plan.python, profile.environment),
        node=facts,
        variables=plan.variables,
        server=server.pid,
        server_started=server.started,
        inherits=inherits,
    )
    adoption_s = options.of_environment().adoption_s
    if adoption_s is not None:
        settings = msgspec.structs.replace(settings, adoption_s=adoption_s)
    cluster = ClusterRecord(identity, "", profile, plan, str(directory), settings=settings)
    cluster = msgspec.structs.replace(cluster, handle=await backend.submit(cluster, {}))
    until = time.monotonic() + HEAD_WITHIN_S
    while time.monotonic() < until:
        if record.exists():
            return msgspec.json.decode(record.read_bytes(), type=HeadRecord)
        if (await backend.status(cluster)).fate == "ended":
            break
        await asyncio.sleep(POLL_S)
    log = (await backend.log(cluster, "head", 0)).decode("utf-8", "replace").strip().splitlines()
    raise StartFailed(
        f"The head did not start: {log[-1] if log else 'its log is empty'}",
        f"Its log: {directory}/head.log",
    )


async def end(connection: ClusterConnection, ending: Ending, heir: str = "") -> bool:
    """Tell a head to end; one that does not answer in time is killed, on other machines by its back-end.

    Args:
        connection: Connection to the head.
        ending: Who asks, and when.
        heir: Socket at which the next head's agent takes over the fork server; empty: it ends, too.

    Returns:
        Whether it ends by itself.

    Raises:
        Unreachable: It does not answer and can't be killed.
    """
    await asyncio.to_thread(endings.note, connection.id, ending)
    try:
        await connection.ask(clients.Stop(heir, ending), STOP_ANSWER_S)
    except Unreachable as error:
        if error.code == "ended":
            return False
        record = connection.record
        if error.code != NO_ANSWER:
            raise
        if record.remote is not None:
            await cancel(backends.backend(record.remote.profile.backend), of_head(record))
        elif not await asyncio.to_thread(head_records.kill, record):
            raise
        return False
    return True
