"""Worlds: launch, find, reach and stop them. The same for every door."""

from __future__ import annotations

import asyncio
import getpass
import os
import re
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from dtrain_lab.backends import hosts, registry
from dtrain_lab.backends.base import Submission
from dtrain_lab.core import policy as core_policy
from dtrain_lab.core.cluster import Cluster
from dtrain_lab.core.kinds import LeaseKind
from dtrain_lab.core.plan import NodeFacts, Plan, Request
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.record import HeadRecord, Remote
from dtrain_lab.core.wire import VERSION, doors
from dtrain_lab.errors import BadRequest, BadSize, Conflict, NotFound, StartFailed, Unreachable
from dtrain_lab.machine import processes
from dtrain_lab.services import environment, folders, policy, profiles, records
from dtrain_lab.services.reach import Connection
from dtrain_lab.services.remote import RemoteConnection

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
HEAD_WITHIN_S = 20.0
READY_WITHIN_S = 300.0
RESIZED_WITHIN_S = 200.0
POLL_S = 0.01


class Worlds:
    """Worlds of this user on this machine, as one door sees them.

    Args:
        kind: of door; says how its leases end.
        server: pid of the Jupyter server that this door belongs to, if it does.
        notebook: path of the notebook whose kernel this is, if it is one.
        pid: the process that holds the leases; this one unless told.
    """

    def __init__(
        self,
        kind: LeaseKind,
        *,
        server: int | None = None,
        notebook: str | None = None,
        pid: int | None = None,
    ) -> None:
        pid = pid or os.getpid()
        self.lease = doors.Lease(kind, socket.gethostname(), pid, processes.started(pid), notebook)
        self._server = server
        self._open: dict[str, Connection] = {}

    # ---- launch

    async def begin(self, request: Request, *, directory: str | None = None, hold: bool = True) -> Connection:
        """Start a world; returns as soon as its head has taken the plan.

        Args:
            request: what is asked for.
            directory: where the ranks start; this process's own unless told.
            hold: take a lease. Without one the world needs a stop.

        Raises:
            DtrainError: the profile, the size, the name or the environment is no good.
        """
        profile = profiles.load(request.profile)
        rules = policy.current()
        core_policy.check(rules, profile)
        if profile.network.ports is None and rules.ports is not None:
            network = msgspec.structs.replace(profile.network, ports=rules.ports)
            profile = msgspec.structs.replace(profile, network=network)
        for host in (*profile.ssh.hosts, *filter(None, (profile.ssh.login,))):
            hosts.forget_refusal(host)  # this is a person's own attempt
        backend = registry.backend(profile.backend)
        python = request.python or environment.kernel_python(request.kernel)
        if profile.backend == "local":
            await environment.check(python)
        facts = await backend.facts(profile)
        plan = backend.plan(
            facts, profile, request, python=python, directory=_directory(directory or os.getcwd())
        )
        name = _free_name(request.name, f"{profile.name}-{plan.size}")
        if profile.backend != "local":
            return await self._send(plan, profile, request, name, hold=hold)
        connection = await self._claim(plan, profile, request, name)
        if connection is None:
            record = await self._spawn(plan, profile)
            connection = await self._launch(record, plan, request, name)
        if hold:
            await self._hold(connection)
        elif self.lease.kind != "terminal":
            connection.close()
        return connection

    async def ready(self, connection: Connection, told: Callable[[Cluster], None] | None = None) -> Cluster:
        """Wait until a world can run cells.

        Args:
            connection: to its head.
            told: hears of its progress.

        Raises:
            StartFailed: it ended before; the message says why.
        """
        until = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < until:
            cluster: Cluster = await connection.ask(doors.Info())
            if cluster.state == "pending":  # a scheduler may take its time
                until = time.monotonic() + READY_WITHIN_S
            if told is not None:
                told(cluster)
            if cluster.state == "ready":
                return cluster
            if cluster.state in ("failed", "stopping", "stopped"):
                text, hint = cluster.summary.text, ""
                if cluster.reason is not None:
                    hint = cluster.reason.hint
                    if cluster.reason.message.rstrip(".") not in text:
                        text = f"{text} {cluster.reason.message}"
                raise StartFailed(text, hint, details={"id": cluster.id})
            await asyncio.sleep(0.02)
        raise StartFailed(
            f"{connection.record.name} was not ready in {READY_WITHIN_S:.0f} s.", "See its log."
        )

    async def warm(self, profile_name: str = "local", python: str | None = None) -> bool:
        """Start a head without ranks, for the next start to claim; False where there is one already."""
        profile = profiles.load(profile_name)
        backend = registry.backend(profile.backend)
        python = python or environment.kernel_python(None)
        await environment.check(python)
        key = environment.key(python, profile.environment)
        if any(r.warm and r.environment == key for r in records.living()):
            return False
        plan = backend.plan(
            await backend.facts(profile), profile, Request(ranks=1), python=python, directory=os.getcwd()
        )
        record = await self._spawn(plan, profile)
        await self.hold(await self.reach(record))
        return True

    # ---- find and reach

    def found(self) -> list[HeadRecord]:
        """Records of worlds that run, oldest first; warm heads are none."""
        return [r for r in records.living() if not r.warm]

    async def connect(self, name: str) -> Connection:
        """Reach a world by its name or id.

        Raises:
            NotFound: there is none.
        """
        for record in self.found():
            if name in (record.name, record.id):
                return await self.reach(record)
        running = ", ".join(r.name for r in self.found())
        raise NotFound(
            f'There is no cluster "{name}".',
            f"Running: {running}." if running else "None is running. Start one: %distributed start",
        )

    async def reach(self, record: HeadRecord) -> Connection:
        """A connection to a head; the same one for the same head."""
        known = self._open.get(record.id)
        if known is not None and not known.closed:
            known.record = record
            return known
        connection = Connection(record) if record.remote is None else RemoteConnection(record)
        await connection.open()
        self._open[record.id] = connection
        return connection

    async def clusters(self) -> list[Cluster]:
        """All clusters; one whose head ends meanwhile is left out."""
        found = await asyncio.gather(*(self._info(record) for record in self.found()))
        return [cluster for cluster in found if cluster is not None]

    async def _info(self, record: HeadRecord) -> Cluster | None:
        try:
            connection = await self.reach(record)
            cluster: Cluster = await connection.ask(doors.Info())
        except Unreachable:
            return None
        return cluster

    async def hold(self, connection: Connection, *, attach: bool = False) -> Cluster:
        """Keep a world alive as long as this door lives; `attach` shows its notebook at the cluster."""
        cluster: Cluster = await connection.ask(doors.Hold(self.lease, attach))
        return cluster

    async def resize(self, connection: Connection, ranks: int) -> Cluster:
        """Give a world another number of ranks, and wait until it can run cells again.

        Raises:
            BadSize: the machine can't hold them, or they are no whole nodes.
            Conflict: a cell runs, or the world can't be made this size in place.
        """
        cluster: Cluster = await connection.ask(doors.Info())
        profile = profiles.load(cluster.profile)
        backend = registry.backend(profile.backend)
        nodes = len(cluster.nodes)
        if nodes > 1:
            per_node = cluster.world.size // nodes
            if ranks % per_node:
                raise BadSize(
                    f"{ranks} ranks are no whole nodes of {per_node}.",
                    f"Ask for a multiple of {per_node}.",
                )
            request = Request(cluster.profile, nodes=ranks // per_node, ranks_per_node=per_node)
        else:
            request = Request(cluster.profile, ranks)
        plan = backend.plan(await backend.facts(profile), profile, request, python="", directory="")
        resized: Cluster = await connection.ask(doors.Resize(plan), within_s=RESIZED_WITHIN_S)
        return resized

    async def stop(self, connection: Connection) -> None:
        """End a world, and wait until its head is gone."""
        try:
            await connection.ask(doors.Stop())
        except Unreachable:
            return
        await connection.ended()
        connection.close()
        records.living()

    async def release(self) -> None:
        """Give all leases back, in order: this door is done."""
        for connection in list(self._open.values()):
            if not connection.closed:
                try:
                    await connection.ask(doors.Release(self.lease), within_s=2.0)
                except Unreachable:
                    continue
                connection.close()

    def close(self) -> None:
        """Drop all connections without a word."""
        for connection in self._open.values():
            connection.close()

    # ----

    async def _hold(self, connection: Connection) -> None:
        self._open[connection.record.id] = connection
        await self.hold(connection, attach=self.lease.notebook is not None)

    async def _claim(self, plan: Plan, profile: Profile, request: Request, name: str) -> Connection | None:
        """Use a warm head of the same environment, unless somebody else is faster."""
        key = environment.key(plan.python, profile.environment)
        for record in records.living():
            if not record.warm or record.environment != key:
                continue
            try:
                return await self._launch(record, plan, request, name)
            except (Conflict, Unreachable):
                continue
        return None

    async def _launch(self, record: HeadRecord, plan: Plan, request: Request, name: str) -> Connection:
        connection = await self.reach(record)
        await connection.ask(doors.Launch(plan, request, name, getpass.getuser()))
        connection.record = msgspec.structs.replace(record, name=name, warm=False)
        return connection

    async def _send(
        self, plan: Plan, profile: Profile, request: Request, name: str, *, hold: bool
    ) -> Connection:
        """Start a world on other machines. Its record is ours, as its head may not run for hours."""
        identity = secrets.token_hex(6)
        backend = registry.backend(profile.backend)
        owner = getpass.getuser()
        launch = doors.Launch(plan, request, name, owner)
        remote = {
            "launch": msgspec.to_builtins(launch),
            "endpoints": "",
            "ports": profile.network.ports,
            "interface": profile.network.interface,
            "idle_s": policy.current().idle_limit_s,
        }
        settings = {
            "id": identity,
            "directory": "",
            "record": "",
            "environment": "",
            "node": NodeFacts(name=plan.nodes[0].name, address="", cpus=1, gpus=0, memory_bytes=0),
            "variables": plan.variables,
            "remote": remote,
        }
        handle = await backend.submit(Submission(identity, name, plan, profile, settings, ""))
        record = HeadRecord(
            id=identity,
            name=name,
            host=socket.gethostname(),
            boot="",
            pid=0,
            started=0.0,
            socket="",
            directory=handle.directory,
            environment="",
            warm=False,
            created_at=time.time(),
            version=VERSION,
            server=self._server,
            remote=Remote(profile, plan, handle, owner),
        )
        records.write(record)
        connection = await self.reach(record)
        if hold:
            await self._hold(connection)
        return connection

    async def _spawn(self, plan: Plan, profile: Profile) -> HeadRecord:
        identity = secrets.token_hex(6)
        directory = folders.private(folders.sockets() / identity)
        record = records.path_of(identity)
        settings: dict[str, Any] = {
            "id": identity,
            "directory": str(directory),
            "record": str(record),
            "environment": environment.key(plan.python, profile.environment),
            "node": await registry.backend(profile.backend).facts(profile),
            "variables": plan.variables,
            "server": self._server,
        }
        adoption = os.environ.get("DTRAIN_LAB_ADOPTION_S")
        if adoption:
            settings["adoption_s"] = float(adoption)
        backend = registry.backend(profile.backend)
        handle = await backend.submit(
            Submission(
                identity,
                "",
                plan,
                profile,
                settings,
                str(directory),
                environment.variables(profile.environment),
            )
        )
        until = time.monotonic() + HEAD_WITHIN_S
        while time.monotonic() < until:
            if record.exists():
                return msgspec.json.decode(record.read_bytes(), type=HeadRecord)
            if (await backend.status(profile, handle)).fate == "ended":
                break
            await asyncio.sleep(POLL_S)
        log = (await backend.log(profile, handle, "head", 0)).decode("utf-8", "replace").strip().splitlines()
        raise StartFailed(
            f"The head did not start: {log[-1] if log else 'it said nothing'}",
            f"Its log: {directory}/head.log",
        )


def check_name(name: str) -> str:
    """A name that a person gave.

    Raises:
        BadRequest: it can't be one.
    """
    if not NAME.fullmatch(name):
        raise BadRequest(
            f'"{name}" can\'t be a name.',
            "Use up to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit.",
            code="bad_name",
            details={"field": "name"},
        )
    return name


def _free_name(wanted: str | None, usual: str) -> str:
    taken = {r.name for r in records.living() if not r.warm}
    if wanted is not None:
        if check_name(wanted) in taken:
            raise Conflict(
                f'A cluster "{wanted}" is running.',
                f"Choose another name, attach to it, or stop it: %distributed attach {wanted}",
                code="name_in_use",
            )
        return wanted
    name, number = usual, 2
    while name in taken:
        name, number = f"{usual}-{number}", number + 1
    return name


def _directory(path: str) -> str:
    return path if Path(path).is_dir() else str(Path.home())
