"""A rank's device, and the ranks of a plan: the same for a cluster and a job, before and after they start."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.jobs.state import job
from dtrain_lab.placement.devices import device_name, device_of
from dtrain_lab.services.connection.pending_cluster import without_head
from dtrain_lab.wire.jobs.folder import FolderState
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.processes.head_record import HeadRecord, SubmittedWorld
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.planned_ranks import planned_ranks
from dtrain_lab.world.state import State
from tests.unit.jobs.records import RECORD

NODES = (NodePlan("a", "", 0, 3, 2, 1), NodePlan("b", "", 3, 2, 0, 1))
PLAN = Plan("p", "slurm", NODES, "", {}, "", "gloo", monitor=True)


def test_ranks_share_the_devices_of_their_node() -> None:
    assert [device_of(local, ("GPU-x", "GPU-y")) for local in range(3)] == ["GPU-x", "GPU-y", "GPU-x"]
    assert device_of(0, ()) is None
    assert [device_name(local, 2) for local in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert device_name(1, 0) == "cpu"


def test_a_world_has_the_ranks_of_its_plan_while_it_waits_and_when_it_runs() -> None:
    planned = planned_ranks(PLAN)
    assert [(r.rank, r.node, r.local_rank, r.device) for r in planned] == [
        (0, "a", 0, "cuda:0"),
        (1, "a", 1, "cuda:1"),
        (2, "a", 2, "cuda:0"),
        (3, "b", 0, "cpu"),
        (4, "b", 1, "cpu"),
    ]
    remote = SubmittedWorld(Profile(backend="slurm"), PLAN, None, "me")
    record = HeadRecord("w", "far", "/d", 0.0, 1, remote=remote)
    assert without_head(record, remote, Status("pending"), 1.0, lost=False).ranks == planned
    collector = MetricsCollector()
    collector.plan = PLAN
    starting = State("starting", members=Members(Member(rank) for rank in range(5)))
    assert Snapshot("w", collector).cluster(starting).ranks == planned
    submitted = replace(RECORD, plan=PLAN)
    assert job(submitted, FolderState(), Status("pending"), 101.0).ranks == planned
    over = job(submitted, FolderState(), Status("ended"), 1e6)
    assert over.ranks == planned_ranks(PLAN, "lost")
