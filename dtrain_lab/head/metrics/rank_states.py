"""State and place of a rank: by its membership, its latest sample, the verdict on it, and the debugger."""

from __future__ import annotations

from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.wire.kinds import RankPhase
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import COMPUTING, Verdict
from dtrain_lab.wire.stacks import Where
from dtrain_lab.world.members import Member


def rank_state(
    member: Member, sample: RankSample, blamed: Verdict | None, collector: MetricsCollector
) -> tuple[RankPhase, Where | None]:
    """Return the state of a rank, and its line if that is known.

    Args:
        member: The rank.
        sample: Its latest sample.
        blamed: The verdict that names it; None without one.
        collector: Knows where ranks are paused, and where those are that others wait for.
    """
    if member.lost:
        return "lost", None
    if member.rank in collector.paused:
        return "paused", collector.pauses.places.get(member.rank)
    if not member.joined or member.new:
        return "starting", None
    if member.cell is None:  # idle even if others wait for it, because it has finished the cell
        return "idle", None
    alarm = blamed.code if blamed is not None and blamed.alarm else ""
    where = collector.awaited.locations.get(member.rank) if alarm else None
    if alarm and alarm != COMPUTING:
        return "stuck", where
    return ("in collective" if sample.operation else "busy"), where
