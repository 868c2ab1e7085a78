"""Ends jobs: their processes on all hosts, repeated where a host was not reached."""

from __future__ import annotations

import logging
import time

from dtrain_lab.errors import DtrainError
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.services.jobs.records import JobRecords
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.job import Job, JobRecord

END_AGAIN_S = 15.0
"""Interval at which a job that was cancelled and still runs is cancelled again."""
log = logging.getLogger(__name__)


class JobEnder:
    """Ends jobs.

    Args:
        records: Records of jobs.
    """

    def __init__(self, records: JobRecords) -> None:
        self._records = records
        self._ended: dict[str, float] = {}
        """Job → monotonic time at which it was last cancelled."""

    async def end(self, record: JobRecord) -> None:
        """End all processes of a job; one that no scheduler has confirmed will not start.

        Raises:
            DtrainError: A host can't be reached.
        """
        backend = backends.backend(record.plan.backend)
        if record.handle is not None:
            self._ended[record.id] = time.monotonic()
            await backend.cancel(record)
        elif backend.traits.schedules and not self._records.is_submitting(record.id):
            transport = backend.files(record)[0].transport
            await transport.replace(f"{record.directory}/{job_files.WITHDRAWN}", b"")

    async def end_again(self, record: JobRecord) -> None:
        """End a job that was cancelled and still runs: a host was not reached, or did not have it yet."""
        ended_at = self._ended.get(record.id)
        if record.cancelled_at is None or (
            ended_at is not None and time.monotonic() - ended_at < END_AGAIN_S
        ):
            return
        try:
            await self.end(record)
        except DtrainError as error:
            log.warning("job %s was cancelled, and can't be ended now: %s", record.id, error)

    async def end_rest(self, record: JobRecord, job: Job) -> None:
        """End processes that may be left of a job that is known to have ended or is lost.

        Args:
            record: Record of the job.
            job: Its current state.

        Raises:
            DtrainError: A host can't be asked, and the job is lost: nothing else would show that it runs.
        """
        if job.state == "succeeded":  # its script may still run the notification command
            return
        try:
            await self.end(record)
        except DtrainError as error:
            if job.state == "lost":
                raise
            log.info("job %s has ended; whether anything is left can't be asked: %s", record.id, error)
