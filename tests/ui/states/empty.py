"""Picture h: no cluster yet, one that starts, one that is ready."""

from __future__ import annotations

from dtrain_lab.wire.cluster import Phase, Rank
from dtrain_lab.wire.summary import Summary
from tests.ui.states.stage import Stage
from tests.ui.states.state import PANEL, STATUS, State
from tests.ui.states.worlds import NOW, cluster_of, ranks_of


def _empty(stage: Stage) -> None:
    stopped = stage.page.locator(PANEL).get_by_role("button", name="Close")
    if stopped.count():  # of the state before: one that has stopped stays until it is closed
        stopped.click()
    stage.page.locator(PANEL).get_by_text("No cluster is running.").wait_for()
    stage.page.locator(STATUS, has_text="No cluster").wait_for()


def _starting(stage: Stage) -> None:
    ranks = tuple(
        Rank(r.rank, r.node, r.local_rank, r.device, r.pid if r.rank < 49 else None, "starting")
        for r in ranks_of(64, local=False)
    )
    stage.hear(
        [
            cluster_of(
                "sft-64",
                ranks,
                profile="hpc-a100",
                state="starting",
                summary=Summary("starting", {"done": 49, "total": 64}, "Starting: 49 of 64 ranks."),
                progress=(
                    Phase("queue", 8, 8, 12.0),
                    Phase("load", 8, 8, 3.2),
                    Phase("fork", 49, 64, 8.0, ("gpu-07",)),
                ),
                may=("stop",),
                created_at=NOW - 21,
                usual_start_s=35.0,
            )
        ]
    )
    stage.page.locator(PANEL).get_by_text("49 of 64 ranks").first.wait_for()
    stage.page.locator(STATUS, has_text="sft-64: starting, 49 of 64 ranks").wait_for()


def _ready(stage: Stage) -> None:
    bare = tuple(
        Rank(r.rank, r.node, r.local_rank, r.device, r.pid, "idle", memory_bytes=r.memory_bytes)
        for r in ranks_of(8)
    )
    stage.hear([cluster_of("local-8", bare)])
    stage.page.locator(PANEL).get_by_text("wait for a cell").first.wait_for()


STATES = (
    State("h-empty", _empty, pinned=True, contrast=True),
    State("h-starting", _starting),
    State("h-ready", _ready),
)
