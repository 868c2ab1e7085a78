"""Which ends of clusters a page tells that was not open then."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.server.ended_clusters import MOST_UNTOLD, EndedClusters
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.summary import Summary
from tests.fakes.clusters import cluster


def named(name: str, state: str = "ready", **changes: object) -> Cluster:
    return replace(cluster(), id=name, name=name, state=state, **changes)


def ending(name: str, by: str) -> Cluster:
    return named(name, "stopping", summary=Summary("stopping", {"by": by, "at": 9.0}, ""))


def test_a_cluster_that_ended_by_itself_unseen_is_told_with_its_reason() -> None:
    ended = EndedClusters()
    for last in (ending("idle", "idle"), ending("limit", ""), ending("asked", "terminal")):
        ended.seen(named(last.id))
        ended.seen(last)
        ended.gone(last.id, told=False)
    assert [(c.id, c.summary.values) for c in ended.untold] == [
        ("idle", {"by": "idle", "at": 9.0}),
        ("limit", {"by": "", "at": 9.0}),
    ]
    assert list(ended.summaries) == ["idle", "limit", "asked"]
    assert not ended.untold[0].ranks


def test_a_killed_head_and_a_failure_are_told_and_what_a_page_saw_or_never_ran_is_not() -> None:
    ended = EndedClusters()
    ended.seen(named("killed"))
    ended.seen(named("failed"))
    ended.seen(named("failed", "failed", summary=Summary("lost_all", {}, "box is gone.")))
    ended.seen(named("seen"))
    ended.seen(named("cancelled", "starting"))
    for name in ("killed", "failed", "cancelled"):
        ended.gone(name, told=False)
    ended.gone("seen", told=True)
    ended.gone("killed", told=False)
    ended.gone("unknown", told=False)
    assert [(c.id, c.summary.text) for c in ended.untold] == [
        ("killed", "Stopped."),
        ("failed", "box is gone."),
    ]


def test_few_are_kept_and_none_that_was_started_again() -> None:
    ended = EndedClusters()
    for number in range(MOST_UNTOLD + 2):
        ended.seen(named(f"c{number}"))
        ended.gone(f"c{number}", told=False)
    ended.seen(replace(named("c3"), id="other"))
    assert [c.id for c in ended.untold] == ["c2", "c4", "c5", "c6"]
