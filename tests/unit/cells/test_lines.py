"""Lines of several ranks as one text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tqdm import tqdm

from dtrain_lab.cells.merge import (
    BURST_HOLD_S,
    HOLD_S,
    PARTIAL_HOLD_S,
    LineMerger,
    LineWriter,
    Piece,
    progress_rows,
)


def shown(pieces: list[Piece], writer: LineWriter | None = None) -> str:
    writer = writer or LineWriter()
    return "".join(writer.write(piece) for piece in pieces)


def test_a_line_of_all_ranks_is_one_line_at_once() -> None:
    merger = LineMerger(3)
    for rank in (2, 0, 1):
        merger.feed(rank, "stdout", "epoch 1\n", 0.0)
    assert shown(merger.ready(0.0)) == "[0-2] epoch 1\n"
    assert merger.due() is None


def test_a_line_of_one_rank_waits_for_the_others_and_no_longer() -> None:
    merger = LineMerger(3)
    merger.feed(1, "stdout", "alone\n", 1.0)
    assert merger.ready(1.0) == []
    assert merger.due() == 1.0 + HOLD_S
    assert shown(merger.ready(1.0 + HOLD_S)) == "[1] alone\n"


def test_a_rank_that_runs_alone_waits_for_nobody() -> None:
    merger = LineMerger(1)
    merger.feed(3, "stdout", "a\nb\n", 0.0)
    assert shown(merger.ready(0.0)) == "[3] a\n[3] b\n"


def test_ranks_that_differ_keep_their_own_order_and_still_merge() -> None:
    merger = LineMerger(2)
    merger.feed(0, "stdout", "same\n", 0.0)
    merger.feed(1, "stdout", "extra\nsame\n", 0.001)
    assert shown(merger.finish()) == "[0] same\n[1] extra\n[1] same\n"
    merger.feed(1, "stdout", "extra\nsame\n", 0.0)
    merger.feed(0, "stdout", "same\n", 0.001)
    assert shown(merger.finish()) == "[1] extra\n[0-1] same\n"


def test_stdout_and_stderr_of_a_rank_keep_their_order() -> None:
    merger = LineMerger(1)
    merger.feed(0, "stdout", "1\n", 0.0)
    merger.feed(0, "stderr", "2\n", 0.0)
    merger.feed(0, "stdout", "3\n", 0.0)
    assert [(p.stream, p.text) for p in merger.finish()] == [
        ("stdout", "1\n"),
        ("stderr", "2\n"),
        ("stdout", "3\n"),
    ]


def test_an_unfinished_line_does_not_cut_another_and_goes_on_after() -> None:
    merger, writer = LineMerger(2), LineWriter()
    merger.feed(0, "stdout", "loss 1", 0.0)
    assert merger.ready(0.0) == []
    assert merger.due() == PARTIAL_HOLD_S
    assert shown(merger.ready(PARTIAL_HOLD_S), writer) == "[0] loss 1"
    merger.feed(0, "stdout", ".5\n", 1.0)
    assert shown(merger.ready(2.0), writer) == ".5\n"
    merger.feed(0, "stdout", "open", 3.0)
    merger.feed(1, "stdout", "other\n", 3.1)
    assert shown(merger.finish(), writer) in ("[1] other\n[0] open", "[0] open\n[1] other\n")


def test_a_line_that_is_cut_within_many_waits_for_its_end() -> None:
    merger, writer = LineMerger(2), LineWriter()
    merger.feed(0, "stdout", "line 420\nline", 0.0)
    merger.feed(1, "stdout", "other\n", 0.1)
    assert shown(merger.ready(0.2), writer) == "[0] line 420\n[1] other\n"
    merger.feed(0, "stdout", " 421\nline", 0.2)
    assert shown(merger.ready(0.25), writer) == "[0] line 421\n"
    assert merger.due() == 0.2 + BURST_HOLD_S
    assert shown(merger.ready(0.2 + BURST_HOLD_S), writer) == "[0] line"


def test_the_end_of_a_line_that_another_has_cut_is_no_line_of_its_own() -> None:
    merger, writer = LineMerger(2), LineWriter()
    for rank in (0, 1):
        merger.feed(rank, "stdout", "loss 1.5", 0.0)
    assert shown(merger.ready(PARTIAL_HOLD_S), writer) == "[0-1] loss 1.5"
    merger.feed(0, "stdout", "\nnext\n", 1.0)
    assert shown(merger.ready(2.0), writer) == "\n[0] next\n"
    merger.feed(1, "stdout", "\nnext\n\n", 3.0)
    assert shown(merger.ready(4.0), writer) == "[1] next\n[1] \n"


def test_carriage_returns_are_a_bar_and_its_end_is_a_line() -> None:
    merger = LineMerger(2)
    for rank in (0, 1):
        merger.feed(rank, "stderr", "\r 10%|#   | 1/10", 0.0)
        merger.feed(rank, "stderr", f"\r {rank + 6}0%|### | {rank + 6}/10", 0.1)
    assert merger.ready(9.0) == []
    assert progress_rows(merger.progress) == [((0,), " 60%|### | 6/10"), ((1,), " 70%|### | 7/10")]
    merger.feed(0, "stderr", "\r100%|####| 10/10\n", 0.2)
    assert shown(merger.finish()) == "[0] 100%|####| 10/10\n[1]  70%|### | 7/10"


def test_a_bar_below_another_is_a_row_of_its_own() -> None:
    merger = LineMerger(1)
    merger.feed(0, "stderr", "\router 1/2", 0.0)
    merger.feed(0, "stderr", "\n\rinner 3/9\x1b[A", 0.0)
    assert merger.progress == {0: {0: "outer 1/2", 1: "inner 3/9"}}
    assert merger.ready(9.0) == []


def test_a_nested_bar_that_is_not_left_on_the_screen_leaves_no_row() -> None:
    merger = LineMerger(1)
    merger.feed(0, "stderr", "\r 50%|# | 1/2\n\r100%|##| 2/2\x1b[A\n\r           \x1b[A", 0.0)
    assert progress_rows(merger.progress) == [((0,), " 50%|# | 1/2")]


class Written:
    """A file that keeps each text that is written to it."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> None:
        self.texts.append(text)


@pytest.mark.parametrize("together", [True, False])
def test_nested_bars_of_tqdm_stay_in_place(together: bool) -> None:
    file = Written()
    merger, found, most = LineMerger(1), [], 0

    def draw() -> None:
        nonlocal most
        texts = ["".join(file.texts)] if together else file.texts
        for text in texts:
            merger.feed(0, "stderr", text, 0.0)
            most = max(most, len(merger.progress.get(0, {})))
        file.texts.clear()
        found.extend(merger.ready(0.0))

    for epoch in tqdm(range(3), "epochs", file=file, mininterval=0, ncols=50):
        for _ in tqdm(range(4), f"epoch {epoch}", leave=False, file=file, mininterval=0, ncols=50):
            draw()
            assert merger.progress[0][0].startswith("epochs:")
            assert merger.progress[0][1].startswith(f"epoch {epoch}:")
        draw()
        merger.feed(0, "stdout", f"loss {epoch}\n", 0.0)
    draw()
    assert most == 2
    found += merger.finish()
    assert [piece.text for piece in found[:3]] == ["loss 0\n", "loss 1\n", "loss 2\n"]
    assert len(found) == 4
    assert found[3].text.startswith("epochs: 100%")
    assert merger.progress == {}


def test_a_bar_that_has_ended_is_a_line_before_what_comes_next() -> None:
    merger = LineMerger(1)
    merger.feed(0, "stderr", "\r 50%|# | 1/2", 0.0)
    merger.feed(0, "stderr", "\r100%|##| 2/2\n", 0.0)
    merger.feed(0, "stdout", "done\n", 0.1)
    assert shown(merger.ready(0.1)) == "[0] 100%|##| 2/2\n[0] done\n"
    merger.feed(0, "stderr", "\r  0%|  | 0/2\n", 1.0)
    assert merger.ready(1.0) == []
    assert merger.due() == 1.0 + BURST_HOLD_S, "its cursor may return until then"
    assert shown(merger.ready(1.0 + BURST_HOLD_S)) == "[0]   0%|  | 0/2\n"
    assert merger.due() is None
    for epoch in range(3):
        merger.feed(0, "stderr", f"\repoch {epoch}  0%", 2.0)
        merger.feed(0, "stderr", f"\repoch {epoch} 99%\n", 2.0)
    assert shown(merger.ready(2.0)) == "[0] epoch 0 99%\n[0] epoch 1 99%\n"
    merger.feed(0, "stderr", "warning\n", 2.1)
    assert shown(merger.finish()) == "[0] epoch 2 99%\n[0] warning\n"


def test_a_bar_in_the_second_place_of_a_rank_that_has_none_in_the_first_stays_there() -> None:
    merger = LineMerger(1)
    for share in (1, 2, 3):
        for text in ("\n", f"\r{share}0%|# | {share}/10", "\x1b[", "A"):
            merger.feed(0, "stderr", text, 0.0)
    assert merger.progress == {0: {0: "30%|# | 3/10"}}
    assert shown(merger.ready(0.1)) == "[0] \n"
    assert shown(merger.finish()) == "[0] 30%|# | 3/10"


def test_many_bars_fold_to_the_one_furthest_behind() -> None:
    bars = {rank: {0: f" {20 + rank}%|## | {20 + rank}/100"} for rank in range(16)}
    assert progress_rows(bars) == [(tuple(range(16)), " 20%|## | 20/100")]


def test_windows_ends_and_rare_separators_are_no_bars_and_no_lines() -> None:
    merger = LineMerger(1)
    merger.feed(0, "stdout", "a\r\nb\x0cc\u2028d\n", 0.0)
    assert shown(merger.finish()) == "[0] a\n[0] b\x0cc\u2028d\n"


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b\n", "\n", "c\nd", "é\n"])), max_size=30)
)
def test_nothing_a_rank_prints_is_lost_or_changes_its_order(pieces: list[tuple[int, str]]) -> None:
    merger = LineMerger(3)
    found: list[Piece] = []
    for number, (rank, text) in enumerate(pieces):
        merger.feed(rank, "stdout", text, number * 0.004)
        found += merger.ready(number * 0.004)
    found += merger.finish()
    for rank in range(3):
        sent = "".join(text for r, text in pieces if r == rank)
        assert "".join(piece.text for piece in found if rank in piece.ranks) == sent
