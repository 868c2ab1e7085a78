"""Times of another machine, by ours."""

from __future__ import annotations

import pytest
from msgspec.structs import fields

from dtrain_lab.wire import cluster
from dtrain_lab.wire.cells import CellRecord, Output, RunningCell
from dtrain_lab.wire.codec import clock


@pytest.mark.parametrize(
    ("said", "off"),
    [(105.0, 0.0), (105.9, 0.0), (700.0, 595.0), (-500.0, -605.0)],
)
def test_a_clock_is_off_where_that_is_more_than_the_way_there(said: float, off: float) -> None:
    assert clock.ahead(104.0, said, 106.0) == off


def test_times_are_moved_and_nothing_else() -> None:
    running = RunningCell("[1]", "a.ipynb", (0,), 1000.0)
    assert clock.by_ours((running,), 600.0) == (RunningCell("[1]", "a.ipynb", (0,), 400.0),)
    records = [CellRecord("a", "[1]", (0,), "waiting", 0)]
    assert clock.by_ours(records, 600.0) == records, "one that has not begun has no time"
    assert clock.by_ours([Output(1, 700.0, "[1]", (0,), "stdout", "x")], 600.0)[0].time == 100.0
    assert clock.by_ours("text", 600.0) == "text"


def test_no_time_of_what_a_head_says_is_forgotten() -> None:
    named = {kind: set(names) for kind, names in clock.TIMES.items()}
    for kind in (cluster.Cluster, RunningCell, CellRecord, Output):
        times = {f.name for f in fields(kind) if f.name.endswith("_at") or f.name in ("time", "idle_since")}
        assert times == named[kind], kind
