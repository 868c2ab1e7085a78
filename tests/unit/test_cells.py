from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    lines = cells.render_failure(found, (0, 1))
    assert lines.count("Ranks 0-1: ValueError: no") == 1
    assert "  cell [5], line 3" in lines
    assert "----> 3 train(batch)" in lines
    assert "  … 1 library frame" in lines
    assert "----> 20 return g()" in lines


def test_lines_of_ranks_do_not_cut_each_other() -> None:
    labels = cells.LineLabels()
    shown = labels.feed(0, "stdout", "half ")
    shown += labels.feed(1, "stdout", "whole\n")
    shown += labels.feed(0, "stdout", "line\n")
    assert shown == "[1] whole\n[0] half line\n"


def test_an_unfinished_line_is_shown_when_asked_and_goes_on_after() -> None:
    labels = cells.LineLabels()
    assert labels.feed(0, "stdout", "loss 1") == ""
    assert labels.flush() == [("stdout", "[0] loss 1")]
    assert labels.feed(0, "stdout", ".5\n") == ".5\n"
    assert not labels.waiting


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b\n", "\n", "c\nd", "é\n"])), max_size=30)
)
def test_nothing_a_rank_prints_is_lost(pieces: list[tuple[int, str]]) -> None:
    labels = cells.LineLabels()
    shown = "".join(labels.feed(rank, "stdout", text) for rank, text in pieces)
    shown += "".join(text for _, text in labels.flush())
    for rank in range(3):
        sent = "".join(text for r, text in pieces if r == rank)
        got = "".join(
            line.removeprefix(f"[{rank}] ") for line in shown.splitlines(True) if line.startswith(f"[{rank}]")
        )
        assert got.replace("\n", "") == sent.replace("\n", "")
