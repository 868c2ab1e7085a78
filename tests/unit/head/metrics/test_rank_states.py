"""State and place of each rank, as the panel, the terminal and JSON say them."""

from __future__ import annotations

import json

import pytest

from dtrain_lab.head.debug_broker import DebugBroker
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.wire import links
from dtrain_lab.wire.cells import RunningCell
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.stacks import Frame, Where
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.state import State

HERE = Where("train.ipynb", "[3]", None, "<module>", 6)
RUNNING = (RunningCell("[3]", "train.ipynb", (0, 1), 0.0),)


def seen(collector: MetricsCollector) -> Cluster:
    """Two ranks that run a cell."""
    node = NodePlan("box", "127.0.0.1", first_rank=0, ranks=2, gpus=0, threads=2)
    collector.plan = Plan("local", "local", (node,), "", {}, "", "gloo", monitor=True)
    head = Snapshot("x", collector)
    head.preloaded_s = 1.0
    members = Members(Member(r, 100 + r, True, 0, "c", "c") for r in (0, 1))
    return head.cluster(State("ready", members=members), RUNNING)


@pytest.mark.parametrize(("cpu", "code", "state"), [(1.0, "computing", "busy"), (0.0, "stuck", "stuck")])
def test_a_rank_that_computes_while_others_wait_is_busy_and_its_line_is_known(
    cpu: float, code: str, state: str
) -> None:
    collector = MetricsCollector()
    waits = RankSample(rank=0, operation="barrier", in_operation_s=12.0)
    collector.sampled([waits, RankSample(rank=1, cpu_utilization=cpu)], 0, None)
    collector.awaited.locations[1] = HERE
    found = seen(collector)
    (verdict,) = found.metrics.verdicts
    assert (verdict.code, verdict.alarm) == (code, True), "an alarm all the same: on_hang acts on it"
    assert [rank.state for rank in found.ranks] == ["in collective", state]
    assert found.ranks[1].where == HERE
    assert found.summary.text == verdict.text


def test_what_a_stack_has_said_ends_with_the_cell_and_with_the_process() -> None:
    collector = MetricsCollector()
    awaited = collector.awaited
    for end in (lambda: collector.forget(1), lambda: collector.cell_began([0, 1], "x = 1"), awaited.clear):
        awaited.found(1, "data", (HERE, "next(batches)"))
        assert (awaited.locations, awaited.source_lines) == ({1: HERE}, {1: "next(batches)"})
        end()
        assert (awaited.locations, awaited.source_lines, awaited.activities) == ({}, {}, {})
    awaited.found(1, "data", (HERE, "next(batches)"))
    awaited.found(1, "works", None)
    assert (awaited.locations, awaited.activities) == ({}, {1: "works"}), "it has left the user's code"


def test_paused_ranks_say_their_line() -> None:
    collector = MetricsCollector()
    collector.pauses.update({0: "", 1: ""}, {0: HERE, 1: HERE})
    found = seen(collector)
    assert (found.state, found.summary.text) == ("paused", "Paused on 2 ranks at cell [3], line 6.")
    assert [(rank.state, rank.where) for rank in found.ranks] == [("paused", HERE)] * 2
    there = Where(file="/home/ada/mylib.py", function="step", line=19)
    collector.pauses.update({0: "", 1: ""}, {0: HERE, 1: there})
    assert seen(collector).summary.text == "Paused on 2 ranks.", "they are at two lines"
    collector.pauses.update({1: "ValueError: x"}, {1: there})
    assert seen(collector).summary.text == "Paused on 1 rank at mylib.py, line 19: ValueError: x."
    collector.pauses.update({})
    assert seen(collector).summary.text == "Running cell [3] on 2 ranks."


def test_the_head_knows_where_ranks_stop_until_they_go_on() -> None:
    told = []
    routes = RankRoutes(lambda peer, frames: None, lambda peer: None)
    broker = DebugBroker(routes, lambda client, data: None, lambda: told.append(dict(broker.stopped_at)))

    def says(event: str, *, paused: bool, frame: Frame | None = None) -> None:
        data = json.dumps({"event": event}).encode()
        broker.happened(links.DebugEvent(rank=1, data=data, paused=paused, frame=frame))

    frame = Frame("cell [3]", 6, "<module>", cell="[3]")
    says("output", paused=True)
    says("stopped", paused=True, frame=frame)
    says("output", paused=True, frame=frame)
    says("continued", paused=False)
    assert told == [{}, {1: frame}, {}]
    says("stopped", paused=True, frame=frame)
    says("stopped", paused=True)
    assert broker.stopped_at == {}, "it has stopped again, outside the user's code"


def test_ranks_that_end_one_after_the_other_leave_the_throughput_of_all() -> None:
    """Found by hand: a job's last point had half of its throughput: one of two ranks had ended before."""
    collector = MetricsCollector()
    collector.cell_began([0, 1], "train()")
    each = {"step_s": 0.1, "samples_per_s": 160.0, "steps_per_s": 10.0}
    collector.sampled([RankSample(rank=rank, step=9, **each) for rank in (0, 1)], 0, None)
    state = State("ready", members=Members(Member(r, 100 + r, True, 0, "c", "c") for r in (0, 1)))
    assert collector.metrics(state).samples_per_s == 320.0
    collector.ended(1, failed=False)
    state = state.member(1, cell=None)
    assert collector.metrics(state).samples_per_s == 320.0
    # one that goes on alone is as fast as it is
    collector.sampled([RankSample(rank=0, step=20, **each)], 0, None)
    assert collector.metrics(state).samples_per_s == 160.0
