"""Which ends of clusters a page tells that was not open then."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.server.ended_clusters import MOST_UNTOLD, EndedClusters
from dtrain_lab.wire.cells import RunningCell, WaitingCell
from dtrain_lab.wire.cluster import Cluster, World
from dtrain_lab.wire.endings import Ending
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
    ended.seen(named("gone"))
    killed = Ending("killed", at=9.0, name="killed", log="/logs/killed")
    ended.gone("killed", told=False, ending=killed)
    for name in ("failed", "cancelled", "gone"):
        ended.gone(name, told=False)
    ended.gone("seen", told=True, ending=killed)
    ended.gone("killed", told=False)
    ended.gone("unknown", told=False)
    assert [(c.id, c.summary.text) for c in ended.untold] == [
        ("killed", "Ended unexpectedly: its head process is gone."),
        ("failed", "box is gone."),
        ("gone", "Ended."),  # nobody says that it was stopped
    ]
    assert ended.summaries["seen"].values["by"] == "killed", "pages that are open tell it"


def test_of_a_killed_head_it_is_known_which_cells_ran() -> None:
    ended = EndedClusters()
    runs = RunningCell("[3]", "a.ipynb", (0, 1), 1.0, cell_id="three")
    waits = WaitingCell("[4]", "a.ipynb", "four")
    for name, by in {"killed": "killed", "stopped": "terminal"}.items():
        ended.seen(named(name, running=(runs,), waiting=(waits,)))
        ended.seen(named(name, "stopping"))  # its head has ended the cells
        ended.gone(name, told=True, ending=Ending(by, at=9.0))  # type: ignore[arg-type]
    assert ended.summaries["killed"].values["running"] == ["three", "four"]
    assert "running" not in ended.summaries["stopped"].values


def test_few_are_kept_and_none_that_was_started_again() -> None:
    ended = EndedClusters()
    for number in range(MOST_UNTOLD + 2):
        ended.seen(named(f"c{number}"))
        ended.gone(f"c{number}", told=False)
    ended.seen(replace(named("c3"), id="other"))
    assert [c.id for c in ended.untold] == ["c2", "c4", "c5", "c6"]


def restarted(ended: EndedClusters, disk: dict[str, Cluster]) -> EndedClusters:
    """The next server, with what an earlier one has kept."""
    keep(ended, disk)
    after = EndedClusters()
    after.recall(disk.values())
    return after


def keep(ended: EndedClusters, disk: dict[str, Cluster]) -> None:
    for identity, last in ended.unsaved().items():
        if last is None:
            disk.pop(identity, None)
        else:
            disk[identity] = last


def test_the_next_server_tells_what_no_page_was_told_of() -> None:
    ended, disk = EndedClusters(), dict[str, Cluster]()
    for last in (ending("idle", "idle"), ending("asked", "terminal")):
        ended.seen(named(last.id))
        ended.seen(last)
        ended.gone(last.id, told=False)
    ended.seen(named("failed"))
    ended.seen(named("failed", "failed", summary=Summary("lost_all", {}, "box is gone.")))
    ended.gone("failed", told=False)
    ended.seen(named("runs"))
    ended.seen(named("starts", "starting"))
    after = restarted(ended, disk)
    assert set(disk) == {"idle", "failed", "runs"}
    assert after.unsaved() == {}, "all is kept already"
    for name in ("idle", "failed"):
        after.gone_before(name, None)
    assert after.untold == ended.untold
    keep(after, disk)
    assert set(disk) == {"idle", "failed", "runs"}
    after.tell()
    keep(after, disk)
    assert set(disk) == {"runs"}
    assert len(after.untold) == 2, "another browser's pages are told, too"


def test_of_clusters_that_ended_without_a_server_those_are_told_that_nobody_has_stopped() -> None:
    ended, disk = EndedClusters(), dict[str, Cluster]()
    for name in ("unseen", "killed", "idle", "with its server", "stopped", "runs"):
        ended.seen(named(name))
    after = restarted(ended, disk)
    after.gone_before("unseen", None)
    after.gone_before("killed", Ending("killed", at=9.0, log="/logs/killed"))
    after.gone_before("idle", Ending("idle", None, 5.0, 60.0))
    after.gone_before("with its server", Ending("shutdown", at=5.0))
    after.gone_before("stopped", Ending("kernel", "a.ipynb", 5.0))
    assert [(c.id, c.summary.values) for c in after.untold] == [
        ("unseen", {"by": "away"}),  # nobody knows when
        ("killed", {"by": "killed", "log": "/logs/killed"}),
        ("idle", {"by": "idle", "at": 5.0, "idle_s": 60.0}),
        ("with its server", {"by": "shutdown", "at": 5.0}),
    ]
    after.seen(replace(named("idle"), id="again"))
    keep(after, disk)
    assert set(disk) == {"unseen", "killed", "with its server", "runs", "again"}
    after.gone("runs", told=True)
    keep(after, disk)
    assert set(disk) == {"unseen", "killed", "with its server", "again"}


def test_clusters_whose_end_another_server_has_told_are_not_told_again() -> None:
    ended, disk = EndedClusters(), dict[str, Cluster]()
    ended.seen(named("here"))
    ended.seen(named("elsewhere"))
    keep(ended, disk)
    ended.stopped(["here"])
    keep(ended, disk)
    assert set(disk) == {"elsewhere"}


def test_a_state_is_kept_anew_only_for_what_a_page_would_tell() -> None:
    ended = EndedClusters()
    ended.seen(named("a"))
    assert list(ended.unsaved()) == ["a"]
    ended.seen(named("a", "paused", idle_since=7.0))
    assert ended.unsaved() == {}
    ended.seen(named("a", world=World(4, 1)))
    assert list(ended.unsaved()) == ["a"]
