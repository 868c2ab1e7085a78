"""The Python interface: `dt.start`, `dt.clusters`, `Cluster`. A door; runs in the user's process.

Every method has an async twin (`run_async`, …). The kernel and the terminal are built on it.
"""

from __future__ import annotations

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.api.job import Job, jobs, submit
from dtrain_lab.api.result import Result
from dtrain_lab.api.start import clusters, clusters_async, start, start_async

__all__ = [
    "Cluster",
    "Job",
    "Result",
    "clusters",
    "clusters_async",
    "jobs",
    "start",
    "start_async",
    "submit",
]
