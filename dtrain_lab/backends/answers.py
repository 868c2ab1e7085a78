"""What back-ends answer: where a head can be reached, where a folder is, when a job may start."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.quota import Budget
from dtrain_lab.wire.processes.endpoints import Keys


class HeadAddress(Struct, frozen=True):
    """Address of a socket on a head's node: a ZeroMQ URL, with CURVE keys for a head over TCP."""

    url: str
    keys: Keys | None = None


class Place(NamedTuple):
    """Location of a cluster's or job's folder, with the transport to it. `nodes`: nodes with logs there."""

    transport: Transport
    nodes: tuple[int, ...]


class StartForecast(NamedTuple):
    """A scheduler's forecast for a job that is not submitted yet.

    `starts_at`: seconds since 1970. `refused`: why the scheduler would refuse the job.
    """

    starts_at: float | None = None
    refused: Finding | None = None
    budget: Budget | None = None
