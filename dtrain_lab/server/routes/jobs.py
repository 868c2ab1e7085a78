"""Request handlers for jobs (plan, submit, inspect, read, end) and for slots."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from msgspec.structs import replace
from tornado import web

from dtrain_lab.cells import rank_sets
from dtrain_lab.errors import BadRequest, Forbidden
from dtrain_lab.server.notebook_paths import stacks_with_path
from dtrain_lab.server.routes.base import BaseHandler
from dtrain_lab.services.jobs.following import next_piece
from dtrain_lab.services.profiles import slots
from dtrain_lab.wire.jobs.job import JobRequest, JobSubmit

LOG_WITHIN_S = 10.0
"""Time for which a request may wait for the next line of a log."""


class JobsHandler(BaseHandler):
    """`jobs`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return all jobs, newest first."""
        self.answer(await self.for_user_jobs(await self.ours.jobs.listing()))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Submit a notebook or a previewed plan; answers 202, the job runs independently of this server."""
        given, file = await self.request_of(JobSubmit)
        request = JobRequest(**{name: getattr(given, name) for name in JobRequest.__struct_fields__})
        made = await self.ours.jobs.submit(request, file, plan=given.plan)
        await self.ours.hub.refresh()
        self.answer(await self.for_user_job(made), 202)


class PlanHandler(BaseHandler):
    """`jobs/plan`."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Plan a job without submitting it: files, command, findings; with `ask`, also ask the scheduler."""
        request, file = await self.request_of(JobRequest)
        ask = self.flag("ask")
        self.answer(await self.ours.jobs.plan(request, file, ask=ask))


class JobHandler(BaseHandler):
    """`jobs/{id}`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return a job."""
        self.answer(await self.for_user_job(await self.ours.jobs.job(identity)))

    @web.authenticated
    @authorized
    async def delete(self, identity: str) -> None:
        """Remove a job that has ended, with its folder and checkpoints.

        With `force`, also if it is unknown whether the job has ended.
        """
        force = self.flag("force")
        made = await self.ours.jobs.delete(identity, force=force)
        await self.ours.hub.refresh()
        self.answer(replace(made, may=()))


class LogsHandler(BaseHandler):
    """`jobs/{id}/logs`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return a piece of the log: from `offset`, of `ranks`, at `first_error` or at `search`.

        With `wait=1`, wait for the next line or the job's end, if it happens soon.
        """
        job = await self.ours.jobs.job(identity)
        wanted = rank_sets.asked(self.get_query_argument("ranks", None), job.world.size)
        if self.flag("wait"):
            offset = self.get_query_argument("offset", "start")
            piece = await next_piece(self.ours.jobs, job.id, offset, wanted, within_s=LOG_WITHIN_S)
            self.answer(piece)
            return
        first = self.flag("first_error")
        self.answer(
            await (await self.ours.jobs.reader(job.id)).logs(
                offset=self.get_query_argument("offset", "start"),
                ranks=wanted,
                first_error=first,
                search=self.get_query_argument("search", "", strip=False),
            )
        )


class LogMatchesHandler(BaseHandler):
    """`jobs/{id}/logs/matches`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Count the log's lines, of `ranks`, that contain `search`: before and after `offset`.

        Raises:
            BadRequest: There is nothing to search for.
        """
        job = await self.ours.jobs.job(identity)
        wanted = rank_sets.asked(self.get_query_argument("ranks", None), job.world.size)
        search = self.get_query_argument("search", "", strip=False)
        if not search:
            raise BadRequest("search is empty.", "Give the text to count.")
        reader = await self.ours.jobs.reader(job.id)
        offset = self.get_query_argument("offset", "start")
        self.answer(await reader.log_matches(search, offset=offset, ranks=wanted))


class JobMetricsHandler(BaseHandler):
    """`jobs/{id}/metrics`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return metrics and their history."""
        self.answer(await (await self.ours.jobs.reader(identity)).metrics())


class JobHistoryHandler(BaseHandler):
    """`jobs/{id}/history`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the metric history, oldest first, in `format` json, csv or tensorboard."""
        found = await (await self.ours.jobs.reader(identity)).history()
        self.file(found, self.get_query_argument("format", "json"))


class JobStacksHandler(BaseHandler):
    """`jobs/{id}/stacks`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the current stacks of all ranks, or of `ranks`."""
        job = await self.for_user_job(await self.ours.jobs.job(identity))
        wanted = rank_sets.asked(self.get_query_argument("ranks", None), job.world.size)
        stacks = await (await self.ours.jobs.reader(job.id)).stacks(wanted)
        self.answer(stacks_with_path(stacks, job))


class JobNotebookHandler(BaseHandler):
    """`jobs/{id}/notebook`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the executed notebook from the job's folder."""
        found = await (await self.ours.jobs.reader(identity)).executed()
        self.set_header("Content-Type", "application/json")
        self.finish(found)


class JobRequestHandler(BaseHandler):
    """`jobs/{id}/request`."""

    @web.authenticated
    @authorized
    async def get(self, identity: str) -> None:
        """Return the job's request, for a form that duplicates the job.

        Raises:
            Forbidden: The notebook is outside the server's root.
        """
        request, file = await self.ours.jobs.request_of(identity)
        job = await self.for_user_job(await self.ours.jobs.job(identity))
        if job.notebook_path is None:
            raise Forbidden(
                f"{file} is outside the server's folder.",
                f"Duplicate the job in a terminal: dtrain-lab job duplicate {job.id}",
            )
        self.answer(replace(request, notebook=job.notebook_path, python=None))


class JobActionHandler(BaseHandler):
    """`jobs/{id}/cancel` and `resume`."""

    @web.authenticated
    @authorized
    async def post(self, identity: str, action: str) -> None:
        """Cancel or resume a job; answers 202, progress arrives as events.

        Args:
            identity: Id of the job.
            action: "cancel" or "resume".

        Raises:
            BadRequest: The request has a body.
        """
        self.no_body()
        jobs = self.ours.jobs
        force = self.flag("force")
        made = await (jobs.cancel(identity) if action == "cancel" else jobs.resume(identity, force=force))
        await self.ours.hub.refresh()
        self.answer(await self.for_user_job(made), 202)


class SlotsHandler(BaseHandler):
    """`slots`."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return the slots of this machine or of a profile's hosts, with holders and those waiting.

        Raises:
            Forbidden: The user may only watch, and the profile's hosts would have to be asked.
        """
        profile = self.get_query_argument("profile", "local")
        if await slots.hosts(profile) and not await self.may_write():
            raise Forbidden(
                "You have read-only access, so hosts can't be queried for you.",
                "Look at the slots of this machine instead.",
            )
        self.answer(await slots.listing(profile))


class HolderHandler(BaseHandler):
    """`slots/{id}`."""

    @web.authenticated
    @authorized
    async def delete(self, identity: str) -> None:
        """End one of the user's GPU processes that belongs to no cluster and no job."""
        self.answer(await slots.stop(identity, self.get_query_argument("profile", "local")))
