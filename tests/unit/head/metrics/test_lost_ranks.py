"""What is said of a rank that was lost: when, and in which line of which cell."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.head.metrics.lost_ranks import Losses
from dtrain_lab.wire.cells import CellRecord, CellResult
from dtrain_lab.wire.summary import Summary
from dtrain_lab.world import events as on
from dtrain_lab.world import initial, step

CRASH = """Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "/usr/lib/python3.12/ctypes/__init__.py", line 521 in string_at
  cell [3], line 2 in crash
  cell [10], line 7 in step
  cell [10], line 9 in <module>
  File "/opt/dtrain_lab/rank/cells/runner.py", line 88 in run"""


def lost(fault: str, result: CellResult | None = None) -> Losses:
    """A rank of two is lost in cell [10], which then ends with a result."""
    state = initial()
    start = (
        on.Launched(2, 1),
        on.NodeReady(0),
        *(on.RankForked(rank, 100 + rank) for rank in (0, 1)),
        *(on.RankJoined(rank, 100 + rank) for rank in (0, 1)),
        *(on.GroupFormed(rank, 0) for rank in (0, 1)),
        on.CellBegan("a", (0, 1)),
        on.RankExited(1, 101, -11, fault=fault),
    )
    for event in start:
        state, _ = step(state, event)
    losses = Losses()
    ran = CellRecord("a", "[10]", (0, 1), "running", 0, notebook="train.ipynb")
    other = CellRecord("b", "[10]", (0, 1), "ended", 0, result=CellResult("b", (0, 1), said=(DIFFERS,)))
    losses.update(state, [other, ran])
    for _ in range(2):
        losses.update(state, [other, replace(ran, result=result)])
    return losses


DIFFERS = Summary("mismatch", {}, "Rank 1 called all_reduce float32[4] where rank 0 called float32[8].")


def test_the_collective_in_which_the_ranks_differed_is_said_of_the_rank_that_it_has_killed() -> None:
    """As found by hand: the cell said it, and the panel only that the rank was killed by a signal."""
    [known] = lost("", CellResult("a", (0, 1), said=(DIFFERS,))).all
    assert known.why == f"Killed by signal 11 (SIGSEGV). {DIFFERS.text}"
    [plain] = lost("", CellResult("a", (0, 1))).all
    assert plain.why == "Killed by signal 11 (SIGSEGV)."


def test_a_crash_is_in_the_line_of_its_cell() -> None:
    [known] = lost(CRASH).all
    assert (known.cell, known.line) == ("[10]", 7)


def test_without_a_traceback_no_line_is_known() -> None:
    [known] = lost("").all
    assert (known.cell, known.line) == ("[10]", None)
