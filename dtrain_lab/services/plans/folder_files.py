"""Files of a job's folder that are made from its record alone."""

from __future__ import annotations

import msgspec

from dtrain_lab.backends.base import Backend
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.text.job_waits import waits_for
from dtrain_lab.wire.jobs.job import JobRecord


def files_of(record: JobRecord, backend: Backend) -> dict[str, bytes]:
    """Return the scripts and the record as files of the job's folder.

    Args:
        record: Record of the job.
        backend: Its back-end.
    """
    scripts = backend.scripts(record)
    encoded = {name: text.encode() for name, text in scripts.items()}
    files = {**encoded, job_files.JOB: msgspec.json.encode(record)}
    # until its script looks for itself; with a folder on each host, only one would say how that ended
    one_folder = backend.traits.shares_folder or len(record.plan.nodes) == 1
    if record.waits_for and one_folder and not backend.traits.schedules:
        files[job_files.WAITING] = msgspec.json.encode(waits_for(record.waits_for))
    return files
