"""What is said of a rank that was lost: when, and in which line of which cell."""

from __future__ import annotations

from dtrain_lab.head.metrics.lost_ranks import Losses
from dtrain_lab.wire.cells import CellRecord
from dtrain_lab.world import events as on
from dtrain_lab.world import initial, step

CRASH = """Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "/usr/lib/python3.12/ctypes/__init__.py", line 521 in string_at
  cell [3], line 2 in crash
  cell [10], line 7 in step
  cell [10], line 9 in <module>
  File "/opt/dtrain_lab/rank/cells/runner.py", line 88 in run"""


def lost(fault: str) -> Losses:
    """A rank of two is lost in cell [10]."""
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
    losses.update(state, [CellRecord("a", "[10]", (0, 1), "running", 0, notebook="train.ipynb")])
    return losses


def test_a_crash_is_in_the_line_of_its_cell() -> None:
    [known] = lost(CRASH).all
    assert (known.cell, known.line) == ("[10]", 7)


def test_without_a_traceback_no_line_is_known() -> None:
    [known] = lost("").all
    assert (known.cell, known.line) == ("[10]", None)
