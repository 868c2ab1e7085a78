"""Plans of jobs: previews that can be submitted exactly as they were shown."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.backends.base import StartForecast
from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.hosts.transport import free_space
from dtrain_lab.errors import Conflict, DtrainError
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.placement import budget, quota
from dtrain_lab.services.index.async_index import AsyncJobIndex
from dtrain_lab.services.plans import inputs
from dtrain_lab.services.plans.answer_cache import GOOD_FOR_S, AnswerCache
from dtrain_lab.services.plans.job_layout import lay_out
from dtrain_lab.services.plans.planning import Planned, prepare
from dtrain_lab.services.plans.preview import preview
from dtrain_lab.services.plans.requests import shell_syntax
from dtrain_lab.services.plans.requests.request_errors import split, together
from dtrain_lab.services.policy import backends, limits
from dtrain_lab.wire.jobs.job import JobPlan, JobRecord, JobRequest
from dtrain_lab.wire.jobs.quota import FreeSpace

log = logging.getLogger(__name__)
First = JobRecord | DtrainError | None
KEPT = 8
"""Number of most recent plans that can still be submitted."""
OLDEST_S = 3600.0
"""Age in seconds after which a plan is unknown: its nodes may be others by then."""
CHECK_AGAIN = "Check again, then submit."
SUBMITTED = "This plan was already submitted or has expired."


class Plans:
    """Makes plans, and keeps the most recent ones.

    Args:
        index: Index of jobs, in which the notebook's last job is found for comparison.
    """

    def __init__(self, index: AsyncJobIndex) -> None:
        self._index = index
        self._recent = AnswerCache()
        self._previews: dict[str, Planned] = {}
        self._asked_for: dict[str, float] = {}
        """Profile → monotonic time at which refusals of its hosts were last reset."""

    async def preview(
        self, request: JobRequest, file: Path, first: First, *, ask: bool
    ) -> tuple[JobPlan, Planned]:
        """Plan a job, and return its preview with the plan that it shows.

        Args:
            request: The user's request.
            file: Path of the notebook.
            first: Record of the job that has to succeed first, or why there is none.
            ask: Also ask the scheduler for a forecast.

        Raises:
            DtrainError: The job can't be planned.
        """
        if ask:
            self.drop_cached_answers()
        planned = await self.plan_job(request, file, first)
        left = await self._free_space(planned)
        more = [quota.finding(left, sum(map(len, planned.files.values())))]
        forecast = await planned.backend.forecast(planned.record) if ask else StartForecast()
        more += [forecast.refused, budget.finding(forecast.budget) if forecast.budget else None]
        findings = (*planned.findings, *(f for f in more if f is not None))
        try:
            before = await self._last_script(request.notebook)
        except DtrainError as error:  # the comparison is optional
            log.info("the last job of %s can't be compared: %s", request.notebook, error)
            before = None
        shown = replace(
            preview(replace(planned, findings=findings), before),
            expected_start_at=forecast.starts_at,
            budget=forecast.budget,
            room=left,
        )
        return shown, planned

    async def plan_job(self, request: JobRequest, file: Path, first: First) -> Planned:
        """Plan a job, and keep the plan for its submission.

        Args:
            request: The user's request.
            file: Path of the notebook.
            first: Record of the job that has to succeed first, or why there is none.

        Raises:
            DtrainError: The job can't be planned; the details' `also` has what else is wrong.
        """
        plan_inputs = await asyncio.to_thread(inputs.read, request, file)
        now = time.monotonic()
        if now - self._asked_for.get(request.profile, -GOOD_FOR_S) >= GOOD_FOR_S:
            self._asked_for[request.profile] = now
            # counts as the user's attempt, but not at each keystroke
            for host in backends.backend(plan_inputs.profile.backend).hosts(plan_inputs.profile):
                ssh_connections.forget_refusal(host)
        sound, refused = split(request)
        unreadable = await shell_syntax.refusal(sound.notify)
        if unreadable is not None:
            refused.append(unreadable)
            sound = replace(sound, notify=None)
        if isinstance(first, DtrainError):
            refused.append(first)
            sound, first = replace(sound, after=None), None
        planned = None
        try:
            layout = await lay_out(sound, file, plan_inputs, self._recent, first)
            if layout.refused is not None:
                refused.append(layout.refused)
            planned = await prepare(layout, self._recent)
        except DtrainError as error:
            refused.append(error)
        if planned is None or refused:
            raise together(refused, planned.findings if planned is not None else ())
        self._previews = submittable({**self._previews, planned.record.id: planned}, time.time())
        return planned

    async def make(self, request: JobRequest, file: Path, first: First) -> Planned:
        """Plan a job for its submission, from current answers of hosts; the arguments are `plan_job`'s.

        Raises:
            DtrainError: The job can't be planned.
        """
        self.drop_cached_answers()
        planned = await self.plan_job(request, file, first)
        self._previews.pop(planned.record.id, None)
        self.drop_cached_answers()  # the job takes room
        return planned

    async def take_preview(self, identity: str, request: JobRequest | None = None) -> Planned:
        """Remove and return a kept plan for submission, so that it can't be submitted twice.

        Args:
            identity: Id of the plan.
            request: The request that came with it; fields at their defaults count as the plan's.

        Raises:
            Conflict: The plan is no longer known, or its sources have changed.
            Forbidden, BadSize: The administrator no longer allows it.
        """
        self._previews = submittable(self._previews, time.time())
        planned = self._previews.get(identity)
        if planned is None:
            raise Conflict(SUBMITTED, CHECK_AGAIN, code="plan_unknown")
        record = planned.record
        changed = inputs.changed(
            planned.sources, await asyncio.to_thread(inputs.read, record.request, planned.file), planned.file
        )
        changed += inputs.changed_fields(record.request, request) if request is not None else []
        if changed:
            raise Conflict(
                f"{', '.join(changed)} changed after this plan was made.",
                CHECK_AGAIN,
                code="plan_changed",
                details={"changed": changed},
            )
        limits.recheck(record, planned.backend)
        if self._previews.pop(identity, None) is None:  # submitted twice at once
            raise Conflict(SUBMITTED, CHECK_AGAIN, code="plan_unknown")
        self.drop_cached_answers()  # the job takes room
        return planned

    def put_back(self, planned: Planned) -> None:
        """Keep a plan again whose submission failed."""
        self._previews[planned.record.id] = planned

    def drop_cached_answers(self) -> None:
        """Drop cached answers of hosts: before a submission, and when the user asks for current ones."""
        self._recent.forget()
        self._asked_for.clear()

    async def _free_space(self, planned: Planned) -> FreeSpace:
        """Return the free space and quota at the job's folder."""
        record = planned.record
        base = record.directory.rpartition("/")[0]
        transport = planned.backend.files(record)[0].transport
        return await self._recent.ask(
            ("room", record.plan.profile, base), partial(free_space, transport, base)
        )

    async def _last_script(self, notebook: str) -> str | None:
        for job in await self._index.last_states(200):
            if job.notebook == notebook:
                entry = await self._index.find(job.id)
                if entry is None:
                    continue
                record = entry[0]
                place = backends.backend(record.plan.backend).files(record)[0]
                if not isinstance(place.transport, LocalTransport):
                    return None
                path = f"{record.directory}/{job_files.CODE}/{job_files.MAIN}"
                text = await place.transport.read(path)
                return text.decode("utf-8", "replace") if text is not None else None
        return None


def submittable(plans: Mapping[str, Planned], now: float) -> dict[str, Planned]:
    """Return those plans that can still be submitted.

    Args:
        plans: Plans by id, the newest last.
        now: Current time, in seconds since 1970.
    """
    young = [(i, planned) for i, planned in plans.items() if now - planned.record.created_at <= OLDEST_S]
    return dict(young[-KEPT:])
