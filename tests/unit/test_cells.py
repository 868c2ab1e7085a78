from __future__ import annotations

import pytest

from dtrain_lab.core import cells
from dtrain_lab.core.cluster import Failure, Frame
from dtrain_lab.errors import BadCell


@pytest.mark.parametrize(
    "code", ["%time x = 1", "!ls", "await f()", "x?", "%%time\n1 + 1", "a = !ls", "for i in []: pass"]
)
def test_what_ipython_runs_is_let_through(code: str) -> None:
    cells.check_source(code)


def test_a_syntax_error_is_refused_with_its_line() -> None:
    with pytest.raises(BadCell, match="never closed") as error:
        cells.check_source("a = 1\nb = (")
    assert (error.value.code, error.value.details["line"]) == ("syntax_error", 2)


@pytest.mark.parametrize("code", ["", "  \n\n"])
def test_an_empty_cell_is_refused(code: str) -> None:
    with pytest.raises(BadCell, match="empty"):
        cells.check_source(code)


def failed(rank: int, message: str, kind: str = "raised", **more: str) -> Failure:
    return Failure(rank, kind, "RuntimeError", message, operation=more.get("operation"))


CLOSED = "[../gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:4242"


def test_a_closed_connection_is_an_effect_where_a_cause_is_known() -> None:
    found = cells.blame([failed(2, CLOSED), failed(1, "bad batch"), failed(0, CLOSED)])
    assert [(f.rank, f.kind) for f in found] == [(0, "aborted"), (1, "raised"), (2, "aborted")]


def test_a_closed_connection_stays_the_cause_where_nothing_else_is_known() -> None:
    assert [f.kind for f in cells.blame([failed(0, CLOSED)])] == ["raised"]


def test_the_sentence_names_who_is_at_fault_and_whom_they_took_along() -> None:
    found = [
        failed(0, "", "aborted", operation="barrier"),
        failed(1, "bad batch"),
        failed(2, "", "aborted", operation="barrier"),
    ]
    assert cells.failure_sentence(found, (0, 1, 2)) == (
        "Rank 1 failed: RuntimeError: bad batch. "
        "Ranks 0 and 2 were interrupted in barrier; variables are kept."
    )


def test_a_lost_rank_is_named_with_how_it_ended() -> None:
    lost = Failure(1, "lost", "RankLost", "killed by signal 9 (SIGKILL)")
    assert cells.failure_sentence([lost], (0, 1)) == "Rank 1 was lost: killed by signal 9 (SIGKILL)."


def test_equal_tracebacks_are_shown_once_with_the_source_line() -> None:
    frames = (
        Frame("cell [5]", 3, "<module>", "train(batch)", "[5]"),
        Frame("/x/site-packages/torch/nn/module.py", 10, "call", "return f()"),
        Frame("/x/site-packages/torch/nn/linear.py", 20, "forward", "return g()"),
    )
    found = [Failure(r, "raised", "ValueError", "no", frames) for r in (0, 1)]
    lines = cells.render_failure(found, "Ranks 0-1 failed.")
    assert lines.count("Ranks 0-1: ValueError: no") == 1
    assert "  cell [5], line 3" in lines
    assert "----> 3 train(batch)" in lines
    assert "  … 1 library frame" in lines
    assert "----> 20 return g()" in lines
