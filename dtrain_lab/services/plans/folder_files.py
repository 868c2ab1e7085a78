"""Files of a job's folder that are made from its record alone."""

from __future__ import annotations

import msgspec

from dtrain_lab.backends.base import Backend
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.jobs.job import JobRecord


def files_of(record: JobRecord, backend: Backend) -> dict[str, bytes]:
    """Return the scripts and the record as files of the job's folder.

    Args:
        record: Record of the job.
        backend: Its back-end.
    """
    scripts = backend.scripts(record)
    made = {name: text.encode() for name, text in scripts.items()}
    return {**made, job_files.JOB: msgspec.json.encode(record)}
