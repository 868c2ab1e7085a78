"""Environment variables by which a job's script configures its agents and ranks: written and parsed here."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.jobs.framework import FrameworkPlan


class Monitored(Struct, frozen=True):
    """Settings of the ranks' monitor.

    `on`: whether it runs. `probe`: it measures links. `guard`: it compares collectives before they run.
    """

    on: bool = True
    probe: bool = True
    guard: bool = False

    @property
    def text(self) -> str:
        """The variable's value."""
        if not self.on:
            return "0"
        words = ["1", *(["no-probe"] if not self.probe else []), *(["guard"] if self.guard else [])]
        return ",".join(words)


def monitored(variables: Mapping[str, str] = os.environ) -> Monitored:
    """Parse the settings of a rank's monitor; the defaults if the variable is not set."""
    words = variables.get(job_files.MONITOR_VARIABLE, "1").split(",")
    return Monitored(words[0] != "0", "no-probe" not in words, "guard" in words)


def of_other_framework(variables: Mapping[str, str] = os.environ) -> bool:
    """Whether this process trains with a framework other than torch, which may not be installed then."""
    return job_files.FRAMEWORK_VARIABLE in variables


def framework(variables: Mapping[str, str] = os.environ) -> FrameworkPlan | None:
    """Parse the plan of a framework other than torch; None for torch."""
    told = variables.get(job_files.FRAMEWORK_VARIABLE)
    return msgspec.json.decode(told, type=FrameworkPlan) if told else None
