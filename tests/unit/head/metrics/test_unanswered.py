"""Ranks that don't answer an interrupt: an alarm with its cause, until they answer."""

from __future__ import annotations

import pytest

from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.metrics.hangs import unanswered_interrupts
from dtrain_lab.head.metrics.hangs.unanswered_interrupts import UnansweredInterrupts
from dtrain_lab.head.metrics.snapshot import Snapshot
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.world.interrupts import ABORT_AFTER_S, DEAF_AFTER_S, give_up
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.state import State


def _seen(*samples: RankSample) -> Cluster:
    """The world once rank 1 has not answered an interrupt."""
    collector = MetricsCollector()
    node = NodePlan("box", "127.0.0.1", first_rank=0, ranks=2, gpus=0, threads=2)
    collector.plan = Plan("local", "local", (node,), "", {}, "", "gloo", monitor=True)
    head = Snapshot("x", collector)
    head.preloaded_s = 1.0
    collector.sampled(samples, 0, None)
    members = (Member(0, 100, True, 0, None, "c"), Member(1, 101, True, 0, "c", "c", True))
    state, _ = give_up(State("ready", members=Members(members)), 0)
    return head.cluster(state)


def test_a_rank_that_does_not_answer_is_an_alarm_that_offers_its_restart() -> None:
    seen = _seen(RankSample(rank=0), RankSample(rank=1))
    (verdict,) = seen.metrics.verdicts
    assert (verdict.code, verdict.alarm, verdict.ranks) == ("deaf", True, (1,))
    assert verdict.text == seen.summary.text == "Rank 1 does not answer the interrupt."
    assert verdict.hint == "Wait until it does, or replace it: %distributed restart 1"
    assert "restart" in verdict.actions
    assert [rank.state for rank in seen.ranks] == ["idle", "stuck"]
    assert seen.summary.values == {"ranks": "1", "count": 1}


def test_it_is_said_for_how_long_a_rank_has_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(unanswered_interrupts.time, "monotonic", lambda: now)
    found = UnansweredInterrupts()
    members = Members((Member(0, 100, True, 0, None, "c"), Member(1, 101, True, 0, "c", "c", True)))
    state, _ = give_up(State("ready", members=members), 0)
    found.update(state)  # the head looks on each tick, also while no client does
    now = 109.0
    verdict = found.verdict(state, ())
    assert verdict is not None
    assert verdict.since_s == pytest.approx(9.0 + ABORT_AFTER_S + DEAF_AFTER_S), "since the interrupt"
    assert found.verdict(State("ready", members=members), ()) is None
    now = 200.0
    again = found.verdict(state, ())
    assert again is not None
    assert again.since_s == pytest.approx(ABORT_AFTER_S + DEAF_AFTER_S)


def test_what_keeps_a_rank_from_answering_stays_known_after_the_interrupt() -> None:
    (verdict,) = _seen(RankSample(rank=0), RankSample(rank=1, stopped=True)).metrics.verdicts
    assert verdict.hint == (
        "Rank 1 is stopped by a signal (SIGSTOP, or a debugger). "
        "SIGCONT resumes it; or replace it: %distributed restart 1"
    )
