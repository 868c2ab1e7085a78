"""The part of the extension app that request handlers use."""

from __future__ import annotations

from typing import Protocol

from dtrain_lab.server.live import Hub
from dtrain_lab.server.long_work import LongWork
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.sweeps.sweeps import Sweeps
from dtrain_lab.services.worlds.worlds import Worlds


class Shared(Protocol):
    """The app, in `settings["dtrain_lab"]`."""

    worlds: Worlds
    jobs: Jobs
    sweeps: Sweeps
    hub: Hub
    long_work: LongWork
    max_ranks: int
    allow_local: bool
