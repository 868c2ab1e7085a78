"""The time that ranks have been in a collective since the debugger has held one of them."""

from __future__ import annotations

import pytest

from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.hangs import debugger_pauses
from dtrain_lab.head.metrics.hangs.debugger_pauses import Pauses
from dtrain_lab.wire.links import RankSample
from dtrain_lab.world import State
from dtrain_lab.world.members import Member, Members


def test_nobody_is_stuck_for_the_time_of_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(debugger_pauses.time, "monotonic", lambda: now)
    held = Pauses()

    def waits(seconds: float) -> float | None:
        sample = RankSample(rank=0, operation="all_reduce", in_operation_s=seconds)
        return held.since_last_pause([sample])[0].in_operation_s

    now = 10.0  # in the collective since 0 s
    held.update({1: ""})
    held.update({1: "", 2: ""})
    now = 90.0
    held.update({})
    now = 95.0
    assert waits(95.0) == pytest.approx(5.0)
    assert waits(15.0) == pytest.approx(5.0), "it came while rank 1 was paused"
    assert waits(3.0) == 3.0
    assert held.since_last_pause([RankSample(rank=0)])[0].in_operation_s is None


def test_the_verdict_on_a_hang_counts_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(debugger_pauses.time, "monotonic", lambda: now)
    collector = MetricsCollector()
    collector.sampled([RankSample(rank=0, operation="barrier", in_operation_s=95.0)], 0, None)
    collector.sampled([RankSample(rank=1)], 0, None)
    members = Members(Member(r, 100 + r, True, 0, "c", "c", False) for r in (0, 1))
    state = State("ready", members=members)
    now = 3.0
    collector.pauses.update({1: ""})
    now = 93.0
    collector.pauses.update({})
    now = 95.0
    assert collector.stuck(state) is None
    now = 105.0
    collector.sampled([RankSample(rank=0, operation="barrier", in_operation_s=105.0)], 0, None)
    found = collector.stuck(state)
    assert found is not None
    assert found.since_s == pytest.approx(12.0)
    for step in range(3):  # each step of the rank that is awaited pauses it again
        now += step
        collector.pauses.update({1: ""})
        collector.pauses.update({})
        assert collector.stuck(state) is None
