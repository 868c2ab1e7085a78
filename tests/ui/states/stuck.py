"""Picture b: a rank is stuck, and the others wait for it."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.cells.errors import NO_ANSWER, failure_parts, joined, render_failure
from dtrain_lab.metrics.verdicts import unanswered
from dtrain_lab.wire.cells import CellRecord, CellResult, Failure
from dtrain_lab.wire.cluster import Cluster, Rank
from dtrain_lab.wire.kinds import RankPhase
from dtrain_lab.wire.metrics.verdicts import COMPUTING as COMPUTES
from dtrain_lab.wire.metrics.verdicts import HangPosition, Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.stacks import Stack, StackFrame, Where
from dtrain_lab.wire.summary import Summary
from dtrain_lab.world.interrupts import give_up
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.state import State as WorldState
from tests.ui.geometry import assert_level
from tests.ui.states.notebooks import LOOP, code, failure, ran, runs, trained, trains
from tests.ui.states.stage import Stage
from tests.ui.states.state import NOTEBOOK, PANEL, VIEW, State
from tests.ui.states.training import ALL, SLOW
from tests.ui.states.worlds import LAST, NOW, cluster_of, metrics_of, past, ranks_of, resting, training

PEERS = (0, 1, 2, 3, 4, 6, 7)
HERE = Where("train.ipynb", "[7]", None, "<module>", 6, "cell-2")
THERE = replace(HERE, line=10)
WAIT = HangPosition(PEERS, False, "all_reduce", 22093, 25 * 2**20, THERE)
STUCK = Verdict(
    id="stuck-all_reduce-22093",
    kind="stuck",
    code="stuck",
    values={"ranks": "5", "peers": "0-4,6-7", "count": 7, "operation": "all_reduce", "seconds": 14},
    text="Rank 5 is stuck. 7 ranks wait for it.",
    ranks=(5,),
    peers=PEERS,
    operation="all_reduce",
    sequence=22093,
    bytes=25 * 2**20,
    where=HERE,
    since_s=14.0,
    hint="Often its data ended early, or a branch skipped a step on this rank alone.",
    actions=("interrupt", "stacks", "restart"),
    standings=(HangPosition((5,), True, where=HERE), WAIT),
)
MISMATCH = replace(
    STUCK,
    id="mismatch-0-22093",
    kind="mismatch",
    code="mismatch",
    values={"ranks": "3", "peers": "0-2,4-7", "called": "broadcast", "expected": "all_reduce", "seconds": 12},
    text="Rank 3 called broadcast where 7 ranks called all_reduce.",
    ranks=(3,),
    peers=(0, 1, 2, 4, 5, 6, 7),
    operation="broadcast",
    where=replace(HERE, line=9),
    standings=(
        HangPosition((3,), True, "broadcast", 22093, 4096, replace(HERE, line=9)),
        replace(WAIT, ranks=(0, 1, 2, 4, 5, 6, 7)),
    ),
    hint="Ranks have to call the same collectives in the same order.",
)
COMPUTING = replace(
    STUCK,
    code="computing",
    text="Rank 5 is still computing. 7 ranks wait for it.",
    hint="Rank 5 is in this line: metrics = evaluate(model, batches)",
)
IN_FILE = replace(
    STUCK,
    where=Where(file="/home/ada/train/comms.py", function="wait_for_data", line=20, called_from=HERE),
    hint="Rank 5 is in this line: time.sleep(0.5)",
    standings=(
        HangPosition(
            (5,),
            True,
            where=Where(file="/home/ada/train/comms.py", function="wait_for_data", line=20, called_from=HERE),
        ),
        replace(
            WAIT,
            where=Where(file="/home/ada/train/comms.py", function="average", line=7, called_from=THERE),
        ),
    ),
)
"""In functions of a module: the card names its lines, and those of the cell that called them."""
UNKNOWN = replace(
    STUCK,
    id="no_progress",
    kind="unknown",
    code="no_progress",
    values={"ranks": "", "peers": "0-7", "count": 8, "operation": "all_reduce", "seconds": 14},
    text="No progress for 14 s. Cause unknown.",
    ranks=(),
    peers=tuple(range(8)),
    where=None,
    standings=(replace(WAIT, ranks=tuple(range(8))),),
    hint="This machine is busy: it is not known whether ranks still move.",
)


def hanging(verdict: Verdict) -> Cluster:
    """A cluster whose ranks stand."""
    blamed: RankPhase = "busy" if verdict.code == COMPUTES else "stuck"
    ranks = tuple(
        replace(
            rank,
            state=blamed if rank.rank in verdict.ranks else "in collective",
            doing=None if rank.rank in verdict.ranks else verdict.operation,
            where=HERE if rank.rank in verdict.ranks else THERE,
            last_seen_s=14.0,
        )
        for rank in ranks_of(8)
    )
    metrics = metrics_of(ranks, verdicts=(verdict,), current=False, last=LAST)
    cell = Summary("running", {"cell": "[7]", "count": 8}, "Running cell [7] on 8 ranks.")
    return training(
        "sft-8",
        ranks,
        metrics=metrics,
        summary=Summary(verdict.code, verdict.values, verdict.text),
        summary_if_ignored=cell,
    )


def _shows(verdict: Verdict, name: str = "") -> State:
    def show(stage: Stage) -> None:
        trains(stage, "sft-8")
        stage.answers("GET", "clusters/sft-8/history", past(8))
        stage.hear([training("sft-8", ranks_of(8))])
        stage.hear([hanging(verdict)])
        stage.page.locator(PANEL).get_by_text(verdict.text).first.wait_for()
        notebook = stage.page.locator(NOTEBOOK)
        notebook.locator(".jp-DtrainOutput-bar").get_by_text(verdict.text.rstrip(".")).last.wait_for()
        # without a culprit no line of the cell is to blame
        for place in range(len(verdict.standings) if verdict.ranks else 0):
            notebook.locator(".jp-DtrainDebug-marks [data-kind]").nth(place).wait_for()
        stage.settle()

    pinned = verdict is STUCK
    beside = f"{NOTEBOOK} .jp-Notebook" if pinned else ""
    part = (*ALL, f"{NOTEBOOK} .jp-Notebook")
    return State(
        f"b-{name or verdict.code.replace('_', '-')}",
        show,
        part,
        pinned=pinned,
        beside=beside,
        contrast=pinned,
    )


WORLD, _ = give_up(
    WorldState(
        "ready",
        members=Members(
            Member(rank, 100 + rank, True, 0, "run-7" if rank == 5 else None, "run-7", rank == 5)
            for rank in range(8)
        ),
    ),
    0,
)
"""Rank 5 has not answered an interrupt; the others have ended the cell."""
DEAF = unanswered.verdict(WORLD.deaf, WORLD.reason, (), 14.0)
assert DEAF is not None
FAILURES = tuple(
    Failure(rank, "interrupted", NO_ANSWER, "")
    if rank == 5
    else Failure(rank, "interrupted", "KeyboardInterrupt", "", operation="all_reduce")
    for rank in range(8)
)
SAID = failure_parts(FAILURES, tuple(range(8)))
GIVEN_UP = CellResult(
    "[7]",
    tuple(range(8)),
    FAILURES,
    joined(SAID),
    372.0,
    traceback=tuple(render_failure(FAILURES, joined(SAID))),
    interrupted=True,
    said=SAID,
)


def _deaf(stage: Stage) -> None:
    """A rank that does not answer the interrupt: the cell has ended without it."""
    assert DEAF is not None
    record = CellRecord(
        "run-7",
        "[7]",
        tuple(range(8)),
        "ended",
        1,
        str(stage.lab.work / "train.ipynb"),
        "cell-2",
        started_at=NOW - 386,
        ended_at=NOW - 9,
        result=GIVEN_UP,
    )
    runs(stage, "sft-8", (record, ()))
    stage.notebook("train.ipynb", trained(ran(code(LOOP, [failure(GIVEN_UP)], 7), record)))
    ranks = tuple(
        replace(rank, state="stuck", doing=None) if rank.rank == 5 else rank for rank in resting(ranks_of(8))
    )
    world = cluster_of(
        "sft-8",
        ranks,
        summary=Summary("deaf", {"ranks": "5", "count": 1}, DEAF.text),
        metrics=metrics_of(ranks, verdicts=(DEAF,), current=False, last=LAST),
        may=("stop", "restart", "stacks", "interrupt"),
        has_run=True,
    )
    stage.hear([world])
    stage.page.locator(PANEL).get_by_text(DEAF.text).first.wait_for()
    stage.page.locator(NOTEBOOK).locator(".jp-DtrainOutput-bar").last.wait_for()
    stage.settle()


NOTHING_RED = """() => !document.querySelector(
    '.jp-DtrainDebug-marks [data-kind], .jp-DtrainStatus-attention, .jp-DtrainOutput-bar [role=alert]')"""


def _ignored(stage: Stage) -> None:
    """Put aside by keyboard: nothing is red, and the focus is where it can be taken up again."""
    _shows(STUCK).show(stage)
    stage.page.locator(PANEL).get_by_role("button", name="Ignore").press("Enter")
    stage.page.locator(PANEL).get_by_text(f"Ignored: {STUCK.text}").wait_for()
    stage.page.locator(".jp-DtrainStatus button:not([data-attention])").wait_for()
    stage.page.locator(f"{PANEL} button:focus", has_text="Show again").wait_for()
    stage.page.wait_for_function(NOTHING_RED)
    stage.settle()


def _untrained(stage: Stage) -> None:
    """A hang in a cell that doesn't train is put aside: nothing is told of steps that there are not."""
    trains(stage, "sft-8")
    stage.answers("GET", "clusters/sft-8/history", past(8))
    world = hanging(STUCK)
    stage.hear([training("sft-8", ranks_of(8))])
    ranks = tuple(
        Rank(r.rank, r.node, r.local_rank, r.device, r.pid, r.state, doing=r.doing, where=r.where)
        for r in world.ranks
    )
    stage.hear([replace(world, ranks=ranks, metrics=Metrics(current=False, verdicts=(STUCK,)))])
    stage.page.locator(PANEL).get_by_role("button", name="Ignore").click()
    stage.page.locator(PANEL).get_by_text(f"Ignored: {STUCK.text}").wait_for()
    stage.settle()


SOURCES = {6: "for step, batch in enumerate(loader):", 10: "    loss.backward()"}
INSIDE = (
    StackFrame(
        Where(file="/opt/envs/torch-2.13/lib/torch/utils/data/dataloader.py", function="__next__", line=741),
        "data = self._next_data()",
        library=True,
    ),
    StackFrame(
        Where(file="/home/ada/train/data.py", function="__getitem__", line=88),
        "return self.tokenizer(self.rows[index]['text'], truncation=True, max_length=self.longest, "
        "return_tensors='pt')",
    ),
)


def _stack(rank: int, blamed: int) -> Stack:
    place = HERE if rank == blamed else THERE
    own = StackFrame(replace(place, function="<module>"), SOURCES[place.line or 0])
    return Stack(rank, "Thread 0x7f (most recent call first): ...", None, (own, *INSIDE))


def _stacks(name: str, verdict: Verdict) -> State:
    """The Stacks view: who is waited for is first, its lines are whole, and its glyph is beside its name."""

    def show(stage: Stage) -> None:
        world = hanging(verdict)
        stage.answers("GET", "clusters/sft-8/stacks", tuple(_stack(r, 5) for r in range(8)))
        stage.hear([world])
        stage.command("dtrain-lab:show-stacks", id="sft-8")
        stage.page.locator(VIEW).get_by_text("the others wait for it").wait_for()
        for head in stage.page.locator(f"{VIEW} h3").all():
            assert_level([head.locator("svg"), head.locator("b")])

    return State(f"b-{name}", show, (VIEW,))


STATES = (
    *(_shows(verdict) for verdict in (STUCK, MISMATCH, COMPUTING, UNKNOWN)),
    _shows(IN_FILE, "in-file"),
    State("b-deaf", _deaf, (*ALL, f"{NOTEBOOK} .jp-Notebook")),
    State("b-ignored", _ignored, (*ALL, f"{NOTEBOOK} .jp-Notebook"), focused=True),
    State("b-untrained", _untrained),
    _stacks("stacks", STUCK),
    _stacks("stacks-slow", SLOW),
)
