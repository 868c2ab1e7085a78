"""Worlds for all clients: launch, find, connect to and stop them."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import logging
import os
import socket
from collections.abc import Callable

from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.errors import DtrainError, NotFound, Unreachable
from dtrain_lab.machine import processes, supervision
from dtrain_lab.placement.frameworks.adapter import check_cluster
from dtrain_lab.services import endings, paths
from dtrain_lab.services.connection import ClusterConnection, Connection, head_records
from dtrain_lab.services.policy import limits
from dtrain_lab.services.profiles import environment
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.worlds import naming, readiness, resize, unused_names
from dtrain_lab.services.worlds.heads import end, submit
from dtrain_lab.services.worlds.launch import launched
from dtrain_lab.services.worlds.open_connections import OpenConnections
from dtrain_lab.services.worlds.undo import undone, whole_or_undone
from dtrain_lab.services.worlds.warm_heads import WarmHeads
from dtrain_lab.text import cluster_endings
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.kinds import LeaseKind
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.processes.head_record import HeadRecord, Server
from dtrain_lab.wire.processes.settings import HEIR

log = logging.getLogger("dtrain_lab.client")

RESIZED_WITHIN_S = 200.0


class Worlds:
    """Worlds of this user on this machine, as one client sees them.

    Args:
        kind: Kind of client, which determines how its leases end.
        server: Pid of the Jupyter server that this client belongs to, if any.
        notebook: Path of the notebook, if this client is a notebook's kernel.
        pid: Process that holds the leases; the current one by default.
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
        self.lease = clients.Lease(
            kind, socket.gethostname(), pid, processes.started(pid), notebook, processes.system()
        )
        self._server = Server(server, processes.began_at(server)) if server is not None else Server()
        self._connections = OpenConnections()
        self.held: set[str] = set()
        """Ids of the worlds that this client has started or attached to."""
        self.warm_heads = WarmHeads(self._server, self._lease_warm_head)

    # ---- launch

    async def begin(
        self, request: Request, *, directory: str | None = None, hold: bool = True
    ) -> ClusterConnection:
        """Start a world; returns as soon as its head has accepted the plan.

        If the caller is interrupted meanwhile, the world is stopped: it would be left halfway, as a head
        without ranks, or as a scheduler's job.

        Args:
            request: The request.
            directory: Working directory of the ranks; the current one by default.
            hold: Take a lease. Without one, a world of this machine lives until it is stopped.

        Raises:
            DtrainError: The profile, the size, the name or the environment is unusable.
        """
        return await whole_or_undone(self._begin(request, directory, hold=hold), self.stop)

    async def start(
        self, request: Request, *, hold: bool = True, told: Callable[[Cluster], None] | None = None
    ) -> tuple[ClusterConnection, Cluster]:
        """Start a world, and wait until it can run cells; an interrupt stops it again.

        Args:
            request: The request.
            hold: As for `begin`.
            told: Called with the cluster's state while it starts.

        Raises:
            DtrainError: The profile, the size, the name or the environment is unusable.
            StartFailed: The world ended before it was ready.
        """
        connection = await self.begin(request, hold=hold)
        try:
            return connection, await readiness.ready(connection, told)
        except asyncio.CancelledError:
            await undone(self.stop(connection))
            raise

    async def _begin(
        self, request: Request, directory: str | None, *, hold: bool, again: bool = True
    ) -> ClusterConnection:
        allowed = limits.allowed(await profiles.loaded(request.profile))
        profile, backend = allowed
        check_cluster(profile)
        for host in backend.hosts(profile):
            ssh_connections.forget_refusal(host)  # the user's own attempt
        python = request.python or environment.kernel_python(request.kernel)
        if backend.traits.one_machine:
            python = environment.of_machine(profile.environment, python)
            await environment.check(python, asked=profile.environment)
        facts = await backend.facts(profile)
        folder = await asyncio.to_thread(paths.folder_or_home, directory or os.getcwd())
        plan = allowed.plan(facts, request, python=python, directory=folder)
        here = backend.traits.one_machine
        if here:
            await asyncio.to_thread(paths.check_writable)
        try:
            with contextlib.ExitStack() as reserved:
                # in a thread: it waits for other starts, and for the disk
                reservation = naming.reserved(request.name, f"{profile.name}-{plan.size}")
                name = await asyncio.to_thread(reserved.enter_context, reservation)
                if here:
                    by, owner = self._server, getpass.getuser()
                    order = clients.Launch(plan, request, name, owner, by.pid, not hold, by.started)
                    connection = await launched(self, order, profile)
                else:
                    submitted = await submit(plan, profile, request, name, server=self._server)
                    connection = await self.reach(submitted)
        except naming.Taken as taken:
            there = await self.info(taken.record) if taken.record is not None else None
            if again and taken.record is not None and await unused_names.freed(self, taken.record, there):
                return await self._begin(request, directory, hold=hold, again=False)
            size = there.world.size if there is not None else None
            raise taken.error(size, plan.size, terminal=self.lease.kind == "terminal") from None
        if hold:
            await self.take_lease(connection, attach=self.lease.notebook is not None)
        elif here and self.lease.kind != "terminal":
            connection.close()
        return connection

    # ---- find and connect

    def running(self) -> list[HeadRecord]:
        """Return the records of running worlds, oldest first, without warm heads."""
        return [r for r in head_records.living() if not r.warm]

    async def connect(self, name: str) -> ClusterConnection:
        """Connect to a world by its name or id.

        Raises:
            NotFound: There is no such world.
        """
        records = await asyncio.to_thread(self.running)  # the disk may be slow
        for record in records:
            if name in (record.name, record.id):
                return await self.reach(record)
        running = ", ".join(r.name for r in records)
        killed = await asyncio.to_thread(endings.killed, name)
        raise NotFound(
            f"{name} {cluster_endings.how(killed)}." if killed else f'There is no cluster "{name}".',
            f"Running: {running}." if running else "No cluster is running. Start one: %distributed start",
        )

    async def reach(self, record: HeadRecord) -> ClusterConnection:
        """Return the connection to a head; one connection per head is shared."""
        return await self._connections.reach(record)

    async def clusters(self) -> list[Cluster]:
        """Return all clusters, except those whose head ends meanwhile."""
        records_now = await asyncio.to_thread(self.running)
        infos = await asyncio.gather(*(self.info(record) for record in records_now))
        return [cluster for cluster in infos if cluster is not None]

    async def info(self, record: HeadRecord, within_s: float = 30.0) -> Cluster | None:
        """Return a cluster; None if its head has ended or does not answer.

        Args:
            record: Record of its head.
            within_s: Timeout of the answer in seconds.
        """
        try:
            connection = await self.reach(record)
            cluster: Cluster = await connection.ask(clients.Info(), within_s)
        except Unreachable:
            return None
        except DtrainError as error:  # such as a wire mismatch: must not hide the others
            log.warning("%s: %s", record.name, error)
            return None
        except Exception as error:  # noqa: BLE001
            supervision.here().fault("client.task", error)
            return None
        return cluster

    async def take_lease(
        self, connection: Connection, *, attach: bool = False, warm: bool = False
    ) -> Cluster:
        """Take a lease for this client's lifetime.

        Args:
            connection: Connection to the head.
            attach: List this client's notebook at the cluster.
            warm: Only while the head has no world.
        """
        cluster: Cluster = await connection.ask(clients.AcquireLease(self.lease, attach, warm))
        if not warm:
            self.held.add(connection.id)
        return cluster

    async def detach(self, cluster: str, within_s: float) -> None:
        """Tell a world that this client's notebook uses another one now; the lease on it stays.

        A head that does not answer goes on naming the notebook: its next cluster is not held up by that.

        Args:
            cluster: Id of the world.
            within_s: Timeout of the answer in seconds.
        """
        record = next((r for r in await asyncio.to_thread(self.running) if r.id == cluster), None)
        if record is not None:
            try:
                connection = await self.reach(record)
                await connection.ask(clients.AcquireLease(self.lease, detach=True), within_s)
            except DtrainError as error:  # also of another version
                log.info("%s goes on naming this notebook: %s", record.name, error)

    async def resize(self, connection: ClusterConnection, ranks: int) -> Cluster:
        """Change a world's number of ranks, and wait until it can run cells again.

        Args:
            connection: Connection to its head.
            ranks: The new number of ranks.

        Raises:
            BadSize: The machine can't hold that many ranks, or they don't fill whole nodes.
            Conflict: A cell is running, or the world can't be resized in place.
        """
        cluster: Cluster = await connection.ask(clients.Info())
        allowed = limits.allowed(await asyncio.to_thread(resize.profile_of, connection.record, cluster))
        request = resize.resized(cluster, ranks)
        facts = await allowed.backend.facts(allowed.profile)
        plan = allowed.plan(facts, request, python="", directory="")
        resized: Cluster = await connection.ask(clients.Resize(plan), within_s=RESIZED_WITHIN_S)
        return resized

    async def request_stop(self, connection: ClusterConnection, python: str | None = None) -> bool:
        """Tell a world's head to end, and kill it if it does not answer; raises as `heads.end`.

        Args:
            connection: Connection to its head.
            python: Python executable for whose next start torch stays loaded; None: nothing stays.

        Returns:
            Whether it ends by itself, within seconds.
        """
        heir = self.warm_heads.start_heir(connection.record, python) if python is not None else ""
        path = str(paths.sockets() / heir / HEIR) if heir else ""
        return await end(connection, endings.by(self.lease), path)

    async def stop(self, connection: ClusterConnection, python: str | None = None) -> None:
        """End a world, and wait until its head is gone; raises as `request_stop`.

        Args:
            connection: Connection to its head.
            python: Python executable for whose next start torch stays loaded; None: nothing stays.
        """
        if await self.request_stop(connection, python):
            await connection.ended()
            connection.close()
            await asyncio.to_thread(head_records.clean_up_killed, connection.id)

    async def release(self) -> None:
        """Release all leases; this client is done with its worlds."""
        await self._connections.release(self.lease)

    def close(self) -> None:
        """Close all connections without releasing leases."""
        self._connections.close()

    # ----

    async def _lease_warm_head(self, record: HeadRecord) -> None:
        await self.take_lease(await self.reach(record), warm=True)
