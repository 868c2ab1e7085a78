"""How far a start is: phases, and the nodes that keep the others waiting."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.state import State

NODES = tuple(NodePlan(name, "", index * 2, 2, 0, 1) for index, name in enumerate(("a", "b", "c")))
PLAN = Plan("far", "ssh", NODES, "", {}, "", "gloo", monitor=True)


def late(state: State) -> dict[str, tuple[int, int, tuple[str, ...]]]:
    collector = MetricsCollector()
    snapshot = Snapshot("x", collector)
    collector.plan = PLAN
    for phase in ("load", "fork", "connect"):
        snapshot.phase_began(phase)
    return {p.phase: (p.done, p.total, p.late_nodes) for p in snapshot.cluster(state).progress}


def starting(*members: Member, ready: tuple[int, ...] = (0, 1, 2)) -> State:
    return State("starting", members=Members(members), nodes=3, ready_nodes=frozenset(ready))


def test_nodes_are_late_once_another_node_is_done() -> None:
    new = [Member(rank) for rank in range(6)]
    assert late(starting(*new, ready=()))["load"] == (0, 3, ()), "nobody is first yet"
    assert late(starting(*new, ready=(1,)))["load"] == (1, 3, ("a", "c"))

    some = [replace(m, pid=1, joined=m.rank in (0, 1, 2)) for m in new]
    assert late(starting(*some)) == {
        "load": (3, 3, ()),
        "fork": (3, 6, ("b", "c")),
        "connect": (0, 6, ()),
    }
    formed = [replace(m, pid=1, joined=True, generation=0 if m.rank > 1 else -1) for m in new]
    connecting = replace(starting(*formed), phase="connecting")
    assert late(connecting)["connect"] == (4, 6, ("a",))


def test_a_rank_that_is_lost_later_makes_no_node_late() -> None:
    members = [Member(rank, pid=1, joined=rank != 5, generation=0) for rank in range(6)]
    degraded = replace(starting(*members), phase="degraded")
    assert all(not nodes for _, _, nodes in late(degraded).values())
