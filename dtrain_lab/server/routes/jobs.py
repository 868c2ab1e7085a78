"""Jobs: plan, submit, look at, read, end. And the slots of this machine."""

from __future__ import annotations

from pathlib import Path

from jupyter_server.auth.decorator import authorized
from msgspec.structs import replace
from tornado import web

from dtrain_lab.core import ranks as rank_sets
from dtrain_lab.core.job import JobRequest
from dtrain_lab.errors import BadRequest, BadSize, Forbidden
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.services import profiles, slots


class _JobsHandler(BaseHandler):
    def request_of(self) -> tuple[JobRequest, Path]:
        """The body, and the notebook's file: below the server's root, and nowhere else."""
        request = self.body(JobRequest)
        root = Path(self.settings["server_root_dir"]).expanduser().resolve()
        file = (root / request.notebook).resolve()
        if not file.is_relative_to(root):
            raise Forbidden(
                f"{request.notebook} is outside the server's folder.", "Choose a notebook below it."
            )
        profile = profiles.load(request.profile)
        if not self.ours.allow_local and profile.backend == "local":
            raise Forbidden(
                "Ranks may not run on this machine.", "Choose another profile.", code="no_local_ranks"
            )
        limit = self.ours.max_ranks
        nodes = request.nodes or profile.nodes or 1
        asked = request.ranks or nodes * (request.ranks_per_node or profile.ranks_per_node or 1)
        if limit and asked > limit:
            raise BadSize(f"A job may have at most {limit} ranks here.", "Ask for fewer.")
        # the interpreter is chosen by kernel: a path from a browser would run anything
        return replace(request, python=None), file


class JobsHandler(_JobsHandler):
    """`jobs`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """All jobs, newest first."""
        self.answer([await self.for_user_job(job) for job in await self.ours.jobs.listing()])

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Submit a notebook; 202: it runs without this server."""
        request, file = self.request_of()
        made = await self.ours.jobs.submit(request, file)
        await self.ours.hub.refresh()
        self.answer(made, 202)


class PlanHandler(_JobsHandler):
    """`jobs/plan`."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """What would be submitted: files, command, findings; `ask` the scheduler, too. Nothing is."""
        request, file = self.request_of()
        ask = self.get_query_argument("ask", "") in ("1", "true", "True")
        self.answer(await self.ours.jobs.plan(request, file, ask=ask))


class JobHandler(BaseHandler):
    """`jobs/{id}`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """One job."""
        self.answer(await self.for_user_job(await self.ours.jobs.job(identity)))

    @web.authenticated
    @authorized
    async def delete(self, identity: str) -> None:
        """Remove it, with its folder and checkpoints; it has to have ended."""
        made = await self.ours.jobs.delete(identity)
        await self.ours.hub.refresh()
        self.answer(replace(made, may=()))


class LogsHandler(BaseHandler):
    """`jobs/{id}/logs`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """A piece of its log: from `offset`, of `ranks`, at `first_error` or at the next `search`."""
        job = await self.ours.jobs.job(identity)
        text = self.get_query_argument("ranks", "")
        wanted = rank_sets.parse(text, job.world.size) if text else None
        first = self.get_query_argument("first_error", "") in ("1", "true", "True")
        self.answer(
            await (await self.ours.jobs.reader(job.id)).logs(
                offset=self.get_query_argument("offset", "start"),
                ranks=wanted,
                first_error=first,
                search=self.get_query_argument("search", ""),
            )
        )


class JobMetricsHandler(BaseHandler):
    """`jobs/{id}/metrics`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Figures, and their history."""
        self.answer(await (await self.ours.jobs.reader(identity)).metrics())


class JobHistoryHandler(BaseHandler):
    """`jobs/{id}/history`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Figures of the past, oldest first, as `format` json, csv or tensorboard."""
        found = await (await self.ours.jobs.reader(identity)).metrics()
        self.file(found.history, self.get_query_argument("format", "json"))


class JobStacksHandler(BaseHandler):
    """`jobs/{id}/stacks`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """What the threads of all ranks do now."""
        self.answer(await (await self.ours.jobs.reader(identity)).stacks())


class JobRequestHandler(BaseHandler):
    """`jobs/{id}/request`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """What it was asked for with, for a form that duplicates it."""
        self.answer(replace(await self.ours.jobs.request_of(identity), python=None))


class JobActionHandler(BaseHandler):
    """`jobs/{id}/cancel` and `resume`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str, action: str) -> None:
        """202: the rest arrives as events."""
        if self.request.body not in (b"", b"{}", b"null"):
            raise BadRequest("This takes no body.", "Send none.", code="bad_body")
        jobs = self.ours.jobs
        made = await (jobs.cancel(identity) if action == "cancel" else jobs.resume(identity))
        await self.ours.hub.refresh()
        self.answer(made, 202)


class SlotsHandler(BaseHandler):
    """`slots`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Who holds the slots of this machine, or of a profile's hosts, and who waits."""
        self.answer(await slots.look(self.get_query_argument("profile", "local")))


class HolderHandler(BaseHandler):
    """`slots/{id}`."""

    @web.authenticated
    @authorized
    async def delete(self, identity: str) -> None:
        """End a process of one's own on a GPU that is neither a cluster's nor a job's."""
        self.answer(await slots.stop(identity, self.get_query_argument("profile", "local")))
