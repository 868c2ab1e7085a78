"""A job's record and an error, for tests of what is derived from them."""

from __future__ import annotations

from dtrain_lab.jobs.state import job
from dtrain_lab.wire.jobs.folder import End, FolderState
from dtrain_lab.wire.jobs.job import JobError, JobRecord, JobRequest
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits

PLAN = Plan(
    "local",
    "local",
    (NodePlan("a", "", 0, 2, 0, 1),),
    "python",
    {},
    "",
    "gloo",
    True,
    traits=Traits(one_machine=True, shares_folder=True),
)


RECORD = JobRecord(
    "1234abcd",
    JobRequest("n.ipynb"),
    Profile(),
    PLAN,
    "n",
    "/f",
    "me",
    "h",
    100.0,
    "agents",
    Handle("1234abcd", "h", 1),
)


def error(rank: int, time: float, message: str = "boom", kind: str = "ValueError") -> JobError:
    return JobError(rank, "[2]", "id", 3, kind, message, time=time)


BAD = error(0, 1.0, "prompt ends with [/INST] and [bold]", "ValueError")


FAILED = job(RECORD, FolderState(190.0, End(1, 200.0), errors=(BAD,)), Status("ended"), 201.0)
