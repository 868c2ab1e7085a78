"""Request handlers for sweeps."""

from __future__ import annotations

import asyncio

from jupyter_server.auth.decorator import authorized
from msgspec.structs import replace
from tornado import web

from dtrain_lab.server.notebook_paths import with_paths
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.wire.sweeps import Sweep, SweepRequest


class _SweepsHandler(BaseHandler):
    async def for_reader(self, sweep: Sweep) -> Sweep:
        """Return the sweep with the actions that this user may perform, and its notebook's path here."""
        return (await self.for_readers([sweep]))[0]

    async def for_readers(self, sweeps: list[Sweep]) -> list[Sweep]:
        """Return sweeps as `for_reader` returns one."""
        found = await asyncio.to_thread(with_paths, sweeps, self.root)
        return found if await self.may_write() else [replace(sweep, may=()) for sweep in found]


class SweepsHandler(_SweepsHandler):
    """`sweeps`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return all sweeps, newest first; with `active`, only those that have not ended."""
        found = await self.ours.sweeps.listing(active=self.flag("active"))
        self.answer(await self.for_readers(found))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Begin a sweep; answers 202, the sweep runs independently of this server."""
        request, file = await self.request_of(SweepRequest)
        made = await self.ours.sweeps.create(request, file)
        self.answer(await self.for_reader(made), 202)


class SweepPlanHandler(_SweepsHandler):
    """`sweeps/plan`."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Check a sweep without starting it; with `ask`, also ask the scheduler about a trial."""
        request, file = await self.request_of(SweepRequest)
        ask = self.flag("ask")
        self.answer(await self.ours.sweeps.plan(request, file, ask=ask))


class UnreadableHandler(_SweepsHandler):
    """`sweeps/unreadable`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return the sweeps whose records can't be read, and what to do."""
        self.answer(await self.ours.sweeps.unreadable())


class SweepHandler(_SweepsHandler):
    """`sweeps/{id}`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return a sweep with its trials."""
        self.answer(await self.for_reader(await self.ours.sweeps.sweep(identity)))

    @web.authenticated
    @authorized
    async def delete(self, identity: str) -> None:
        """Remove a sweep that has ended, and the jobs of its trials with their folders and checkpoints.

        With `force`, also if it is unknown whether one of these jobs has ended.
        """
        force = self.flag("force")
        made = await self.ours.sweeps.delete(identity, force=force)
        await self.ours.hub.refresh()
        self.answer(await self.for_reader(made))


class TrialsHandler(_SweepsHandler):
    """`sweeps/{id}/trials`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the trials of a sweep, in order."""
        self.answer((await self.ours.sweeps.sweep(identity)).trials)


class SweepActionHandler(_SweepsHandler):
    """`sweeps/{id}/stop` and `resume`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str, action: str) -> None:
        """Stop or resume a sweep; answers 202.

        Args:
            identity: Id of the sweep.
            action: "stop" or "resume".

        Raises:
            BadRequest: The request has a body.
        """
        self.no_body()
        sweeps = self.ours.sweeps
        made = await (sweeps.stop(identity) if action == "stop" else sweeps.resume(identity))
        self.answer(await self.for_reader(made), 202)
