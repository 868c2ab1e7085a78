"""Warm heads: they have torch loaded and no ranks, and the next start of their environment claims one."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable

from dtrain_lab.errors import DtrainError
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import head_records
from dtrain_lab.services.policy import limits
from dtrain_lab.services.profiles import environment
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.services.worlds.heads import spawn
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.processes.head_record import HeadRecord, Server


class WarmHeads:
    """Starts heads without ranks, and lets starts wait for warm heads that are not ready yet.

    Args:
        server: The Jupyter server that this client belongs to, if any.
        take_lease: Takes this client's lease on a head.
    """

    def __init__(self, server: Server, take_lease: Callable[[HeadRecord], Awaitable[object]]) -> None:
        self._server = server
        self._take_lease = take_lease
        self._coming: dict[str, asyncio.Future[None]] = {}
        """Environment key → done once its warm head can be claimed, or has failed to start."""

    async def start(
        self, profile_name: str = "local", python: str | None = None, *, heir: str | None = None
    ) -> bool:
        """Start a head without ranks, for the next start to claim; False if there already is one.

        Args:
            profile_name: Profile of the next start.
            python: Python executable of the next start.
            heir: Id of the new head, which takes over the fork server of a head that ends.
        """
        profile, backend = limits.allowed(await profiles.loaded(profile_name))
        python = environment.of_machine(profile.environment, python or environment.kernel_python(None))
        key = environment.key(python, profile.environment)
        if heir is None and key in self._coming:
            return False
        self._coming.setdefault(key, asyncio.get_running_loop().create_future())
        try:
            await environment.check(python, asked=profile.environment)
            if _living(key):
                return False
            plan = backend.plan(
                await backend.facts(profile), profile, Request(ranks=1), python=python, directory=os.getcwd()
            )
            await self._take_lease(await spawn(plan, profile, server=self._server, heir=heir))
            return True
        finally:
            self._warmed(key)

    def start_heir(self, record: HeadRecord, python: str) -> str:
        """Start a head, in the background, that takes over a cluster's fork server.

        Args:
            record: The cluster.
            python: Python executable of the next start.

        Returns:
            Id of the new head; empty if this environment already has a warm head, or the cluster has another
            environment.
        """
        try:
            profile = profiles.load("local").environment
            key = environment.key(environment.of_machine(profile, python), profile)
        except DtrainError:  # the next start reports it; a stop only stops
            return ""
        warm = key in self._coming or _living(key)
        if warm or record.remote is not None or record.environment != key:
            return ""
        identity = secrets.token_hex(6)
        self._coming[key] = asyncio.get_running_loop().create_future()  # no second heir
        supervision.here().once("client.task", self._warm_heir(python, identity, key))
        return identity

    async def _warm_heir(self, python: str, identity: str, key: str) -> None:
        try:
            await self.start(python=python, heir=identity)
        except DtrainError:
            return  # a start that the user requests will report the error
        finally:
            self._warmed(key)

    def _warmed(self, key: str) -> None:
        """Let starts of an environment continue: its warm head can be claimed, or has failed to start."""
        coming = self._coming.pop(key, None)
        if coming is not None:
            coming.set_result(None)

    async def claimable(self, key: str) -> list[HeadRecord]:
        """Return the warm heads of an environment; waits for one that is starting."""
        if key in self._coming:  # started a moment ago: a second head would load torch once more
            await asyncio.shield(self._coming[key])
        return _living(key)


def _living(key: str) -> list[HeadRecord]:
    return [r for r in head_records.living() if r.warm and r.environment == key]
