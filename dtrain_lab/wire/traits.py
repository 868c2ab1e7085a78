"""Traits of a back-end: its capabilities as a value, so that other code never compares back-end names."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.wire.kinds import JobLauncher


class Traits(Struct, frozen=True):
    """Traits of a back-end.

    `one_machine`: all nodes of a cluster or a job are the machine that it is started from. `schedules`: a
    scheduler chooses nodes, assigns slots, enforces time limits and handles dependencies between jobs.
    `shares_folder`: all nodes of a job write to one folder. `starts_agents`: its script starts an agent on
    each node of a cluster; otherwise the head starts that of its own node. `launchers`: supported launchers
    of a job's ranks, the default first.
    """

    one_machine: bool = False
    schedules: bool = False
    shares_folder: bool = False
    starts_agents: bool = False
    launchers: tuple[JobLauncher, ...] = ("agents",)
