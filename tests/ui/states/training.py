"""Picture a: the panel beside a notebook that trains."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dtrain_lab.metrics.advice.measured import Measured
from dtrain_lab.metrics.advice.reasons import why_none
from dtrain_lab.metrics.verdicts import straggler
from dtrain_lab.wire.cells import RunningCell
from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.metrics.diagnosis import Tried
from dtrain_lab.wire.metrics.verdicts import Advice, Verdict
from dtrain_lab.wire.metrics.world import Epoch, Metrics
from dtrain_lab.wire.node_use import HostUse
from dtrain_lab.wire.summary import Summary
from tests.ui.states import jobs
from tests.ui.states.notebooks import trains
from tests.ui.states.stage import Stage
from tests.ui.states.state import NOTEBOOK, PANEL, STATUS, State
from tests.ui.states.worlds import LAST, NOW, cluster_of, metrics_of, past, ranks_of, resting, training

ADVICE = Advice(
    id="accumulate",
    change="Accumulate 2 batches",
    gain=1.09,
    gain_error=0.02,
    cost="The effective batch becomes 512: multiply the learning rate by 2 (linear scaling) or by 1.4 "
    "(square-root scaling).",
    diff="",
    values={"every": 2, "times": 2, "root": "1.4", "batch": 512, "code": "dt.optimize(...)"},
    tryable=True,
)
MORE_ADVICE = (
    ADVICE,
    Advice(
        "bf16",
        "Send gradients in bf16",
        1.06,
        0.02,
        "",
        "",
        {"item": 4, "code": "dt.optimize(...)"},
        tryable=True,
    ),
    Advice(
        "more_ranks", "More ranks will not help: training is input-bound", 1.0, 0.02, "", "", {"share": 0.31}
    ),
)
TRIED = (
    replace(ADVICE, diff="@@ -1 +1 @@", tried=Tried("accumulate", 1.48, 0.06, 1.6, 0.2, 20, "", "loop")),
    replace(MORE_ADVICE[1], tried=Tried("bf16", 1.2, 0.4, 1.06, 0.02, 6, "")),
)
UNSURE = (
    replace(ADVICE, gain=1.58, gain_error=0.6),
    replace(MORE_ADVICE[1], gain=1.4, gain_error=0.25),
)
SLOW = Verdict(
    id="slow-5",
    kind="slow",
    code="slow",
    values={"ranks": "5", "count": 7, "over_s": 0.061},
    text="Rank 5 is slow. 7 ranks wait for it.",
    ranks=(5,),
    peers=(0, 1, 2, 3, 4, 6, 7),
    hint="61 ms a step longer than the others, in every step: its loader takes 58 ms.",
    actions=("stacks",),
)
BUSY = straggler.too_busy("box", HostUse(cores=8, runnable=23.0), alone=True)
ALL = (PANEL, f"{NOTEBOOK} .jp-DtrainOutput", f"{NOTEBOOK} .jp-Toolbar", STATUS)


def slow_metrics(ranks: tuple[Rank, ...]) -> Metrics:
    """Figures of a world that one rank holds up."""
    return metrics_of(ranks, verdicts=(SLOW,), slowest_rank=5, skew_s=0.061)


def _training(stage: Stage) -> None:
    trains(stage, "sft-8")
    stage.answers("GET", "clusters/sft-8/history", past(8))
    for step in range(1790, 1801, 5):
        ranks = ranks_of(8, step)
        world = training("sft-8", ranks, metrics=metrics_of(ranks, advice=(ADVICE,)))
        stage.hear([world], jobs.SIDEBAR)
    stage.page.locator(PANEL).get_by_text("keep pace").wait_for()


def _advice(stage: Stage) -> None:
    trains(stage, "sft-8")
    stage.answers("GET", "clusters/sft-8/history", past(8))
    ranks = ranks_of(8, 1800)
    epoch = Epoch(3, 40, 101, split=True)
    metrics = metrics_of(ranks, advice=MORE_ADVICE, rank_batch=32, global_batch=256, epoch=epoch)
    stage.hear([training("sft-8", ranks, metrics=metrics)], jobs.SIDEBAR)
    panel = stage.page.locator(PANEL)
    panel.get_by_role("button", name="2 more…").click()
    panel.get_by_text("More ranks will not help").wait_for()


def _with_advice(stage: Stage, advice: tuple[Advice, ...], error: float, name: str = "sft-8") -> None:
    trains(stage, name)
    stage.answers("GET", f"clusters/{name}/history", past(8))
    ranks = ranks_of(8, 1800)
    metrics = metrics_of(
        ranks,
        advice=advice,
        rank_batch=32,
        global_batch=256,
        comm_overhead_error=error,
        epoch=Epoch(3, 40, 101, split=True),
    )
    stage.hear([training(name, ranks, metrics=metrics)], jobs.SIDEBAR)
    more = stage.page.locator(PANEL).get_by_role("button", name="1 more…")
    shown = stage.page.locator(PANEL).get_by_role("button", name="Show less")  # as the state before left it
    more.or_(shown).or_(stage.page.locator(PANEL).get_by_text("dismissed")).first.wait_for()
    if more.count():
        more.click()


def _tried(stage: Stage) -> None:
    """What was tried: one change that helps, and one whose few batches don't tell."""
    _with_advice(stage, TRIED, 0.2)
    stage.page.locator(PANEL).get_by_text("Measured over only 6 batches").wait_for()


def _unsure(stage: Stage) -> None:
    """Gains and a share that are known roughly, or not at all."""
    _with_advice(stage, UNSURE, 0.4)
    stage.page.locator(PANEL).get_by_text("may be faster").wait_for()


def _dismissed(stage: Stage) -> None:
    """One piece of advice is put away, and how it comes back."""
    _with_advice(stage, MORE_ADVICE[:2], 0.2, "put-away")
    panel = stage.page.locator(PANEL)
    if not panel.get_by_text("dismissed").count():  # as the state before left it
        panel.get_by_role("button", name="Dismiss", exact=True).first.click()
    panel.get_by_text("1 piece of advice dismissed").wait_for()
    stage.page.mouse.move(0, 0)


def _all_dismissed(stage: Stage) -> None:
    """All advice is put away: one line is left of it."""
    _with_advice(stage, MORE_ADVICE[:2], 0.2, "all-away")
    panel = stage.page.locator(PANEL)
    for _ in range(panel.get_by_role("button", name="Dismiss", exact=True).count()):
        panel.get_by_role("button", name="Dismiss", exact=True).first.click()
    panel.get_by_text("2 pieces of advice dismissed").wait_for()


def _hungry(stage: Stage) -> None:
    """The loader is slow: headline and bar say the same."""
    trains(stage, "sft-8")
    stage.answers("GET", "clusters/sft-8/history", past(8))
    parts = {"compute_s": 0.006, "optimizer_s": 0.002}
    ranks = tuple(replace(r, data_s=0.72 * (r.step_s or 0), **parts) for r in ranks_of(8, 1800))
    verdict = Verdict(
        "input_bound", "input_bound", "input_bound", {"share": 0.72, "data_s": 0.147},
        "Training waits for data: 72 % of a step.",
        hint="The loader takes 147 ms a step: more workers (num_workers), or fewer transforms.",
    )  # fmt: skip
    batches = {"rank_batch": 8, "global_batch": 64, "accumulated": 4, "epoch": Epoch(3, 40, 101, split=True)}
    metrics = metrics_of(ranks, verdicts=(verdict,), data_s=0.147, **parts, **batches)
    summary = Summary("input_bound", verdict.values, verdict.text)
    stage.hear([training("sft-8", ranks, metrics=metrics, summary=summary)], jobs.SIDEBAR)
    stage.page.locator(PANEL).get_by_text("data 72").wait_for()


def sleeping(ranks: tuple[Rank, ...]) -> tuple[tuple[Rank, ...], Metrics]:
    """The ranks of a loop that mostly waits for something else, and the figures of their world."""
    asleep = 0.62
    ranks = tuple(replace(r, data_s=0.002, asleep_s=asleep * (r.step_s or 0)) for r in ranks)
    metrics = metrics_of(ranks, compute_s=0.147)
    share = metrics.comm_overhead or 0.0
    of = Measured(ranks=8, step_s=metrics.step_s, share=share, transfer_s=0.02, plain_ddp=True, asleep=asleep)
    return ranks, replace(metrics, asleep_s=asleep * (metrics.step_s or 0), no_advice=why_none(of, ""))


def _sleeping(stage: Stage) -> None:
    """The loop waits for something else: the bar does not call that computation."""
    trains(stage, "sft-8")
    stage.answers("GET", "clusters/sft-8/history", past(8))
    ranks, metrics = sleeping(ranks_of(8, 1800))
    stage.hear([training("sft-8", ranks, metrics=metrics)], jobs.SIDEBAR)
    stage.page.locator(PANEL).get_by_text("other waits 62").wait_for()


def _ended(stage: Stage, told: str, **changes: Any) -> None:
    trains(stage, "sft-8", ended=True)
    stage.answers("GET", "clusters/sft-8/history", past(8))
    metrics = Metrics(current=False, last=LAST, **changes)
    stage.hear([cluster_of("sft-8", resting(ranks_of(8, 1800)), metrics=metrics)], jobs.SIDEBAR)
    stage.page.locator(PANEL).get_by_text(told).wait_for()


def _advice_ended(stage: Stage) -> None:
    """The cell has ended: its advice stays, and says that it is of the last run."""
    _ended(stage, "Last run: 1,286", advice=MORE_ADVICE[:2])


def _no_advice(stage: Stage) -> None:
    """Nothing is advised, and why."""
    of = Measured(ranks=8, step_s=0.2, share=0.36, transfer_s=0.02, plain_ddp=True, gradient_bytes=9,
                  gradient_item=4)  # fmt: skip
    _ended(stage, "waiting for a slower rank", no_advice=why_none(of, ""))


def _slow(stage: Stage) -> None:
    trains(stage, "sft-8")
    stage.answers("GET", "clusters/sft-8/history", past(8))
    summary = Summary("slow", SLOW.values, SLOW.text)
    for step in range(1790, 1801, 5):
        ranks = ranks_of(8, step, slow=5)
        stage.hear([training("sft-8", ranks, metrics=slow_metrics(ranks), summary=summary)])
    stage.page.locator(PANEL).get_by_text("Rank 5 is slow").first.wait_for()


def _busy(stage: Stage) -> None:
    """Ranks wait for cores: the first word is about training, how far figures can be trusted stands below."""
    trains(stage, "sft-8")
    stage.answers("GET", "clusters/sft-8/history", past(8))
    ranks = ranks_of(8, 1800)
    metrics = metrics_of(ranks, verdicts=(BUSY,), comm_overhead_error=0.34)
    begun = Summary("training_begun", {"total": 8}, "Training on 8 ranks.")
    stage.hear([training("sft-8", ranks, metrics=metrics, summary=begun)], jobs.SIDEBAR)
    stage.page.locator(PANEL).get_by_text("This machine is busy").wait_for()


def _vague(stage: Stage) -> None:
    """The machine is under load: how the step of each rank divides is not known, which is said once."""
    trains(stage, "sft-8")
    stage.answers("GET", "clusters/sft-8/history", past(8))
    ranks = tuple(replace(r, comm_overhead_error=0.4) for r in ranks_of(8, 1800))
    stage.hear([training("sft-8", ranks, metrics=metrics_of(ranks, comm_overhead_error=0.4))], jobs.SIDEBAR)
    stage.page.locator(PANEL).get_by_text("too unsteady to tell").wait_for()


def _unfed(stage: Stage) -> None:
    """Steps whose samples nobody counts, and whose communication is not known."""
    trains(stage, "sft-8")
    stage.answers("GET", "clusters/sft-8/history", past(8))
    ranks = tuple(
        replace(r, samples_per_s=None, comm_overhead=None, comm_overhead_error=None) for r in ranks_of(8)
    )
    unknown = {"samples_per_s": None, "comm_overhead": None, "comm_overhead_error": None}
    stage.hear([training("sft-8", ranks, metrics=replace(metrics_of(ranks_of(8)), **unknown))])
    stage.page.locator(PANEL).get_by_text("without a DataLoader").wait_for()


def _running(stage: Stage) -> None:
    ranks = tuple(replace(r, state="busy", doing=None) for r in cluster_of("x", ranks_of(8)).ranks)
    bare = tuple(
        Rank(r.rank, r.node, r.local_rank, r.device, r.pid, "busy", memory_bytes=r.memory_bytes)
        for r in ranks
    )
    summary = Summary("running", {"cell": "[3]", "count": 8}, "Running cell [3] on 8 ranks.")
    running = (RunningCell("[3]", "train.ipynb", tuple(range(8)), NOW - 4, "cell-1"),)
    stage.hear([cluster_of("sft-8", bare, summary=summary, running=running)])


def _sixty_four(stage: Stage) -> None:
    ranks = ranks_of(64, slow=37, local=False)
    verdict = replace(
        SLOW,
        values={"ranks": "37", "count": 63, "over_s": 0.061},
        text="Rank 37 is slow. 63 ranks wait for it.",
        ranks=(37,),
    )
    stage.hear(
        [
            training(
                "sft-64",
                ranks,
                profile="hpc-a100",
                metrics=metrics_of(ranks, verdicts=(verdict,), slowest_rank=37),
                summary=Summary("slow", verdict.values, verdict.text),
            )
        ]
    )
    stage.page.locator(PANEL).get_by_text("gpu-08").first.wait_for()


def _thousand(stage: Stage) -> None:
    ranks = ranks_of(1024, slow=777, local=False)
    stage.hear([training("pre-1k", ranks, profile="hpc-h100", metrics=metrics_of(ranks, slowest_rank=777))])
    stage.page.locator(f"{PANEL} canvas").first.wait_for()


STATES = (
    State("a-training", _training, ALL, pinned=True, contrast=True),
    State("a-advice", _advice),
    State("a-advice-tried", _tried),
    State("a-advice-unsure", _unsure),
    State("a-advice-dismissed", _dismissed),
    State("a-advice-all-dismissed", _all_dismissed),
    State("a-advice-ended", _advice_ended),
    State("a-no-advice", _no_advice),
    State("a-input-bound", _hungry),
    State("a-sleeping", _sleeping),
    State("a-slow", _slow, ALL),
    State("a-busy", _busy, ALL),
    State("a-unsteady", _vague),
    State("a-no-samples", _unfed),
    State("a-running", _running),
    State("a-64-ranks", _sixty_four),
    State("a-1024-ranks", _thousand),
)
