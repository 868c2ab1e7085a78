"""Records of jobs: found in the index, and changed there and in the job's folder."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from dtrain_lab.errors import DtrainError, NotFound
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.index.async_index import AsyncJobIndex
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.job import Job, JobRecord

log = logging.getLogger(__name__)


class JobRecords:
    """Records of this user's jobs.

    Args:
        index: Index of jobs.
    """

    def __init__(self, index: AsyncJobIndex) -> None:
        self._index = index
        self._submitting: set[str] = set()

    async def find(self, name: str) -> tuple[JobRecord, Job | None]:
        """Return a job's record, and its state as last seen, if it was.

        Raises:
            NotFound: There is no job of that name or id; or it is a sweep, which the error says.
        """
        found = await self._index.find(name)
        if found is not None:
            return found
        if await asyncio.to_thread(sweep_names.is_sweep, name):
            raise NotFound(
                f'"{name}" is a sweep, not a job.',
                f"Show it: dtrain-lab sweep show {name}. Each of its trials is a job, listed with its id by: "
                f"dtrain-lab sweep trials {name}",
                code="no_job",
            )
        raise NotFound(
            f'There is no job "{name}".',
            "List them: All jobs in the panel, or dtrain-lab job list.",
            code="no_job",
        )

    async def record(self, name: str) -> JobRecord:
        """Return a job's record.

        Raises:
            NotFound: There is no job of that name or id.
        """
        return (await self.find(name))[0]

    async def change(self, identity: str, **changes: Any) -> JobRecord:
        """Change fields of a record in the index and in the job's folder, keeping concurrent changes.

        Args:
            identity: Id of the job.
            **changes: New values of the record's fields.

        Returns:
            The changed record.

        Raises:
            NotFound: There is no such job.
            Unreachable: The index can't be written.
        """
        record = await self._index.change(identity, **changes)
        transport = backends.backend(record.plan.backend).files(record)[0].transport
        data = await self._index.data(identity)
        try:
            while data is not None:
                await transport.replace(f"{record.directory}/{job_files.JOB}", data)
                again = await self._index.data(identity)
                if again == data:  # otherwise another process has changed it meanwhile: write the newer one
                    break
                data = again
        except DtrainError as error:  # the index has the change
            log.warning("job %s: its record was not written to its folder: %s", identity, error)
        return record

    @contextlib.contextmanager
    def submitting(self, identity: str) -> Iterator[None]:
        """While this process submits a job, no other task looks for it at its back-end, or withdraws it."""
        self._submitting.add(identity)
        try:
            yield
        finally:
            self._submitting.discard(identity)

    def is_submitting(self, identity: str) -> bool:
        """Return whether this process submits the job now."""
        return identity in self._submitting
