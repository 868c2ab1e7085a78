"""Request handlers for sweeps."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from msgspec.structs import replace
from tornado import web

from dtrain_lab.errors import BadRequest
from dtrain_lab.server.notebook_paths import with_path
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.wire.sweeps import Sweep, SweepRequest


class _SweepsHandler(BaseHandler):
    async def for_reader(self, sweep: Sweep) -> Sweep:
        """Return the sweep with the actions that this user may perform, and its notebook's path here."""
        sweep = with_path(sweep, self.settings["server_root_dir"])
        return sweep if await self.may_write() else replace(sweep, may=())


class SweepsHandler(_SweepsHandler):
    """`sweeps`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return all sweeps, newest first."""
        self.answer([await self.for_reader(sweep) for sweep in await self.ours.sweeps.listing()])

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Begin a sweep; answers 202, the sweep runs independently of this server."""
        request = self.body(SweepRequest)
        file = self.below_root(request.notebook)
        # only a kernel may choose the interpreter: a path from a browser could run any program
        made = await self.ours.sweeps.create(replace(request, python=None), file)
        self.answer(await self.for_reader(made), 202)


class SweepPlanHandler(_SweepsHandler):
    """`sweeps/plan`."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Check a sweep without starting it; with `ask`, also ask the scheduler about a trial."""
        request = self.body(SweepRequest)
        file = self.below_root(request.notebook)
        ask = self.get_query_argument("ask", "") in ("1", "true", "True")
        self.answer(await self.ours.sweeps.plan(replace(request, python=None), file, ask=ask))


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
        force = self.get_query_argument("force", "") in ("1", "true", "True")
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
        if self.request.body not in (b"", b"{}", b"null"):
            raise BadRequest("This request takes no body.", "Send it without one.", code="bad_body")
        sweeps = self.ours.sweeps
        made = await (sweeps.stop(identity) if action == "stop" else sweeps.resume(identity))
        self.answer(await self.for_reader(made), 202)
