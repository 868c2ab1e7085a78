"""Picture i: what can be the matter with a cluster, or with the way to it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from dtrain_lab.wire.cluster import Alternative, Cluster, Lost, Phase, Reason, World
from dtrain_lab.wire.summary import Summary
from dtrain_lab.world.shrinking import offered
from tests.ui.states.notebooks import trains
from tests.ui.states.stage import Stage
from tests.ui.states.state import PANEL, STATUS, State
from tests.ui.states.worlds import NOW, SITE, cluster_of, past, paused, ranks_of, resting, training

HPC = {"profile": "hpc-a100"}


def _pending() -> Cluster:
    reason = Reason(
        "Resources",
        "Waiting in Slurm for 8 nodes; 6 are free.",
        "",
        since_s=180.0,
        expected_start_at=NOW + 22 * 60,
        ahead=3,
        alternatives=(Alternative("48 ranks on 6 nodes would start at once.", {"nodes": 6}),),
    )
    return cluster_of(
        "sft-64",
        (),
        state="pending",
        summary=Summary("pending", {}, "Waiting in Slurm for 8 nodes; 6 are free."),
        world=World(64, 0),
        created_at=NOW - 180,
        reason=reason,
        may=("stop",),
        progress=(Phase("queue", 0, 8, 180.0),),
        **HPC,
    )


def _degraded() -> Cluster:
    ranks = tuple(
        replace(r, state="lost", pid=None) if r.rank == 40 else r for r in resting(ranks_of(64, local=False))
    )
    why = "Killed by signal 9 (SIGKILL). Its memory had reached 494 of 512 GiB."
    values = {"ranks": "40", "how": why, "failed": True}
    return cluster_of(
        "sft-64",
        ranks,
        state="degraded",
        summary=Summary("lost", values, "Rank 40 was lost. The cell has failed."),
        reason=Reason("rank_lost", why, "Restart it: %distributed restart 40."),
        without_lost=offered([40], 64, 8),
        lost=(Lost(40, why, NOW - 94, "[7]", "train.ipynb", "cell-2", "step 1800 loss 1.402"),),
        **HPC,
    )


def _failed() -> Cluster:
    return cluster_of(
        "sft-64",
        (),
        state="failed",
        summary=Summary("no_torch", {}, "sft-64 did not start: gpu-07 has no torch."),
        world=World(64, 0),
        reason=Reason(
            "no_torch",
            "gpu-07: ModuleNotFoundError: No module named 'torch' (environment: conda torch-2.13).",
            "The other 7 nodes have torch there. Install it on gpu-07, or leave gpu-07 out.",
            final=True,
        ),
        may=("remove",),
        **HPC,
    )


def _sign_in() -> Cluster:
    return cluster_of(
        "sft-64",
        (),
        state="pending",
        summary=Summary("sign_in", {}, "hpc-a100 wants your one-time code. Jobs go on."),
        world=World(64, 0),
        reason=Reason("sign_in", "login1 asks: One-time code.", "Sign in to go on.", host="login1"),
        may=("stop",),
        **HPC,
    )


def _rebuilding() -> Cluster:
    ranks = tuple(replace(r, state="starting") if r.rank == 5 else r for r in resting(ranks_of(8)))
    values = {"total": 8, "ranks": "5"}
    summary = Summary("rebuilding_missing", values, "Connecting 8 ranks again: rank 5 is missing.")
    return cluster_of(
        "sft-8", ranks, state="rebuilding", summary=summary, progress=(Phase("connect", 7, 8, 2.1),)
    )


def _stopping() -> Cluster:
    values = {"done": 12, "total": 64}
    summary = Summary("stopping", values, "Stopping: 12 of 64 ranks have ended.")
    ranks = tuple(replace(r, pid=None) if r.rank < 12 else r for r in resting(ranks_of(64, local=False)))
    return cluster_of("sft-64", ranks, state="stopping", summary=summary, may=(), **HPC)


def _stopped() -> Cluster:
    return cluster_of(
        "sft-8",
        (),
        state="stopped",
        summary=Summary("stopped", {"lasted_s": 8040.0}, "Stopped."),
        world=World(8, 0),
        may=(),
    )


def _paused() -> Cluster:
    return paused("sft-8", ranks_of(8))


def _ends_soon() -> Cluster:
    text = "Training. All 8 ranks keep pace. Its allocation ends in 9 min."
    return training(
        "sft-8",
        ranks_of(8),
        summary=Summary("training", {"total": 8}, text),
        ends_at=NOW + 540,
        limit_at=NOW + 540,
    )


def _of(name: str, make: Callable[[], Cluster], *, pinned: bool = False) -> State:
    def show(stage: Stage) -> None:
        cluster = make()
        stage.hear([cluster])
        stage.page.locator(f"{PANEL} .jp-DtrainUi-sentence").first.wait_for()

    return State(f"i-{name}", show, pinned=pinned, contrast=pinned)


def _read_only(stage: Stage) -> None:
    stage.ask_again(replace(SITE, may_write=False))
    stage.answers("GET", "clusters/sft-8/history", past(8))
    stage.hear([training("sft-8", ranks_of(8), may=())])
    stage.page.locator(PANEL).get_by_text("You can watch this cluster.").first.wait_for()


def _disconnected(stage: Stage) -> None:
    stage.answers("GET", "clusters/sft-8/history", past(8))
    trains(stage, "sft-8")
    stage.hear([training("sft-8", ranks_of(8))])
    stage.drop()
    stage.page.locator(PANEL).get_by_text("No connection to the server.").wait_for()
    stage.page.locator(STATUS, has_text="sft-8: no connection").wait_for()
    picker = stage.page.locator(".jp-DtrainNotebook-picker button[aria-disabled=true]")
    picker.and_(stage.page.locator("[title^='No connection to the server']")).first.wait_for()
    picker.first.click(force=True)
    assert not stage.page.locator(".lm-Menu").count(), "nothing can be chosen"


STATES = (
    _of("pending", _pending),
    _of("degraded", _degraded, pinned=True),
    _of("failed", _failed),
    _of("sign-in", _sign_in),
    _of("rebuilding", _rebuilding),
    _of("paused", _paused),
    _of("ends-soon", _ends_soon),
    _of("stopping", _stopping),
    _of("stopped", _stopped),
    State("i-read-only", _read_only),
    State("i-disconnected", _disconnected),
)
