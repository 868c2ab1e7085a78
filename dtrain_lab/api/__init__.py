"""The Python interface: `dt.start`, `dt.clusters`, `Cluster`. A client that runs in the user's process.

Methods have async variants (`run_async`, …). The kernel and the terminal are built on this interface.
"""

from __future__ import annotations

from dtrain_lab.api.advise import advise
from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.job import Job, jobs
from dtrain_lab.api.result import Result
from dtrain_lab.api.start import clusters, clusters_async, start, start_async
from dtrain_lab.api.submit import submit
from dtrain_lab.api.sweep import Sweep, sweep, sweeps

__all__ = [
    "Cluster",
    "Job",
    "Result",
    "Sweep",
    "advise",
    "clusters",
    "clusters_async",
    "jobs",
    "start",
    "start_async",
    "submit",
    "sweep",
    "sweeps",
]
