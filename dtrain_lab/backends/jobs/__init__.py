"""Jobs on each back-end: the scripts are handed over here, and their fate is asked for.

Facts, plans and the way to a head are the back-end's own (`backends.registry`); a job's files are read
through the transports that `places` gives. Imported when asked for.
"""

from __future__ import annotations

from dtrain_lab.backends.jobs.base import ASK_WITHIN_S, Forecast, JobBackend, Place
from dtrain_lab.errors import NotFound

__all__ = ["ASK_WITHIN_S", "Forecast", "JobBackend", "Place", "job_backend"]


def job_backend(name: str) -> JobBackend:
    """The back-end of a name, for jobs.

    Raises:
        NotFound: jobs can't run there.
    """
    match name:
        case "local":
            from dtrain_lab.backends.jobs.local import LocalJobs

            return LocalJobs()
        case "ssh":
            from dtrain_lab.backends.jobs.ssh import SshJobs

            return SshJobs()
        case "slurm":
            from dtrain_lab.backends.jobs.slurm import SlurmJobs

            return SlurmJobs()
    raise NotFound(
        f'Jobs can\'t run on the back-end "{name}".', "Use local, ssh or slurm.", code="no_backend"
    )
