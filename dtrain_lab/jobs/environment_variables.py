"""Environment variables by which a job's script configures agents and ranks: named, written, parsed here."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from dtrain_lab.wire.jobs.framework import FrameworkPlan

FOLDER = "DTRAIN_JOB"
NOTEBOOK = "DTRAIN_NOTEBOOK"
CHECKPOINTS = "DTRAIN_CHECKPOINT_DIR"
MONITOR = "DTRAIN_MONITOR"
FRAMEWORK = "DTRAIN_FRAMEWORK"
"""A `FrameworkPlan` as JSON, if ranks train with a framework other than torch."""
ACCELERATOR = "DTRAIN_ACCELERATOR"
"""Kind of the devices, if they are not GPUs: "npu"."""
FORKS = "DTRAIN_WARM"
"""Set if the job's ranks are forked from a process that has loaded torch, if there is one."""
STAGED = "DTRAIN_STAGED"
"""Folder of the copies of the job's data."""
SIZE = "DTRAIN_SIZE"
"""Number of ranks, where no launcher sets it."""
PEER = "DTRAIN_PEER"
"""Address of the last node, for the first of several."""
NODES = "DTRAIN_NODES"
"""Addresses of the nodes, in order, with spaces between them; only with a `FrameworkPlan`."""
ATTEMPT = "DTRAIN_ATTEMPT"
NEVER = "DTRAIN_NEVER"
"""Why ranks can't start on a host, a `Reason` as JSON. The host's agent reports it as a failure of its
ranks."""

AGENT = "DTRAIN_AGENT"
"""Pid of the rank's node agent."""
METRICS = "DTRAIN_METRICS_FD"
STACKS = "DTRAIN_STACKS_FD"
DEBUG = "DTRAIN_DEBUG_FD"
FILES = (METRICS, STACKS, DEBUG)
"""Open files that an agent passes to a rank: its metrics, stacks and debugger."""


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


class JobEnvironment(Struct, frozen=True, kw_only=True):
    """Settings that a job's script passes to the agents and ranks of the job.

    `folder`: the job's; empty outside a job. `notebook`: its file name. `framework`: None for torch.
    `accelerator`: kind of the devices, if they are not GPUs. `forks`: ranks are forked from a process that
    has loaded torch, if there is one. `peer`: address of the last node, for the first of several. `nodes`:
    addresses of all nodes, for frameworks other than torch. `attempt`: None under torchrun, which counts by
    itself. `never`: why ranks can't start here, a sentence without its full stop; empty if they can.
    """

    folder: str = ""
    notebook: str = "notebook.ipynb"
    checkpoints: str = ""
    monitored: Monitored = Monitored()
    framework: FrameworkPlan | None = None
    accelerator: str = ""
    forks: bool = False
    peer: str = ""
    nodes: tuple[str, ...] = ()
    attempt: int | None = None
    never: str = ""

    def to_environ(self) -> dict[str, str]:
        """Return the variables that don't depend on node and attempt; the script itself adds the others."""
        environ = {
            FOLDER: self.folder,
            NOTEBOOK: self.notebook,
            MONITOR: self.monitored.text,
            CHECKPOINTS: self.checkpoints,
        }
        if self.framework is not None:
            environ[FRAMEWORK] = msgspec.json.encode(self.framework).decode()
        if self.accelerator:
            environ[ACCELERATOR] = self.accelerator
        if self.forks:
            environ[FORKS] = "1"
        return environ

    @classmethod
    def from_environ(cls, variables: Mapping[str, str] = os.environ) -> JobEnvironment:
        """Parse the variables of a process; what is not set has its default.

        Raises:
            ValueError: A number can't be parsed, or the framework's plan or the reason can't be decoded.
        """
        attempt, never = variables.get(ATTEMPT), variables.get(NEVER)
        return cls(
            folder=variables.get(FOLDER, ""),
            notebook=variables.get(NOTEBOOK, "notebook.ipynb"),
            checkpoints=variables.get(CHECKPOINTS, ""),
            monitored=monitored(variables),
            framework=framework(variables),
            accelerator=variables.get(ACCELERATOR, ""),
            forks=bool(variables.get(FORKS)),
            peer=variables.get(PEER, ""),
            nodes=tuple(variables.get(NODES, "").split()),
            attempt=int(attempt) if attempt else None,
            never=msgspec.json.decode(never)["message"].rstrip(".") if never else "",
        )


def monitored(variables: Mapping[str, str] = os.environ) -> Monitored:
    """Parse the settings of a rank's monitor; the defaults if the variable is not set."""
    words = variables.get(MONITOR, "1").split(",")
    return Monitored(words[0] != "0", "no-probe" not in words, "guard" in words)


def of_other_framework(variables: Mapping[str, str] = os.environ) -> bool:
    """Whether this process trains with a framework other than torch, which may not be installed then."""
    return FRAMEWORK in variables


def framework(variables: Mapping[str, str] = os.environ) -> FrameworkPlan | None:
    """Parse the plan of a framework other than torch; None for torch."""
    encoded = variables.get(FRAMEWORK)
    return msgspec.json.decode(encoded, type=FrameworkPlan) if encoded else None
