from __future__ import annotations

import time
from pathlib import Path

import pytest

import dtrain_lab
from dtrain_lab.api.result import RanksFailed, RanksStopped, Result
from dtrain_lab.cells import errors as cell_errors
from dtrain_lab.cells import left_frames, syntax
from dtrain_lab.errors import BadCell
from dtrain_lab.rank.debugger import tracing
from dtrain_lab.text import cluster_endings
from dtrain_lab.wire.cells import CellResult, Failure
from dtrain_lab.wire.endings import Ending
from dtrain_lab.wire.stacks import Frame


@pytest.mark.parametrize(
    "code", ["%time x = 1", "!ls", "await f()", "x?", "%%time\n1 + 1", "a = !ls", "for i in []: pass"]
)
def test_what_ipython_runs_is_let_through(code: str) -> None:
    syntax.check_source(code)


def test_plain_python_is_checked_without_ipythons_transformation(monkeypatch: pytest.MonkeyPatch) -> None:
    def transformed() -> None:
        raise AssertionError("a cell without magics is compiled as it is")

    monkeypatch.setattr(syntax, "_transformer", transformed)
    syntax.check_source("for i in range(3):\n    await f(i)")


def test_a_syntax_error_is_refused_with_its_line() -> None:
    with pytest.raises(BadCell, match="never closed") as error:
        syntax.check_source("a = 1\nb = (")
    assert (error.value.code, error.value.details["line"]) == ("syntax_error", 2)


@pytest.mark.parametrize("code", ["", "  \n\n"])
def test_an_empty_cell_is_refused(code: str) -> None:
    with pytest.raises(BadCell, match="empty"):
        syntax.check_source(code)


def failed(rank: int, message: str, kind: str = "raised", **more: str) -> Failure:
    return Failure(rank, kind, "RuntimeError", message, operation=more.get("operation"))


CLOSED = "[../gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:4242"


def test_a_closed_connection_is_an_effect_where_a_cause_is_known() -> None:
    found = cell_errors.blame([failed(2, CLOSED), failed(1, "bad batch"), failed(0, CLOSED)])
    assert [(f.rank, f.kind) for f in found] == [(0, "aborted"), (1, "raised"), (2, "aborted")]


def test_a_closed_connection_stays_the_cause_where_nothing_else_is_known() -> None:
    assert [f.kind for f in cell_errors.blame([failed(0, CLOSED)])] == ["raised"]


def test_a_connection_that_a_restart_has_closed_is_an_interrupt() -> None:
    found = cell_errors.blame([failed(0, CLOSED, operation="all_reduce")], restarted=True)
    assert cell_errors.own_interrupt(found)
    assert cell_errors.joined(cell_errors.failure_parts(found, (0, 1))) == (
        "Rank 0 was interrupted in all_reduce; variables are kept."
    )
    both = cell_errors.blame([failed(0, CLOSED), failed(1, "bad batch")], restarted=True)
    assert [f.kind for f in both] == ["aborted", "raised"]


def test_the_sentence_names_who_is_at_fault_and_whom_they_took_along() -> None:
    found = [
        failed(0, "", "aborted", operation="barrier"),
        failed(1, "bad batch"),
        failed(2, "", "aborted", operation="barrier"),
    ]
    assert cell_errors.joined(cell_errors.failure_parts(found, (0, 1, 2))) == (
        "Rank 1 failed: RuntimeError: bad batch. Ranks 0, 2 were interrupted in barrier; variables are kept."
    )


def test_other_errors_are_counted() -> None:
    def said(count: int) -> str:
        found = [failed(rank, f"bad {rank}") for rank in range(count)]
        return cell_errors.joined(cell_errors.failure_parts(found, tuple(range(count))))

    assert said(2) == "Ranks 0–1 failed: RuntimeError: bad 0 (and 1 other)."
    assert said(3) == "Ranks 0–2 failed: RuntimeError: bad 0 (and 2 others)."


def test_a_gpu_that_a_process_can_no_longer_use_is_told_with_the_way_out() -> None:
    broken = failed(1, "CUDA error: device-side assert triggered\nCUDA kernel errors might be reported later")
    assert cell_errors.joined(cell_errors.failure_parts([broken], (0, 1))) == (
        "Rank 1 failed: RuntimeError: CUDA error: device-side assert triggered. "
        "CUDA fails on rank 1 until you replace it: %distributed restart 1."
    )
    passing = failed(1, "CUDA error: invalid argument")
    assert "restart" not in cell_errors.joined(cell_errors.failure_parts([passing], (0, 1)))


def test_a_lost_rank_is_named_with_how_it_ended() -> None:
    lost = Failure(1, "lost", "RankLost", "killed by signal 9 (SIGKILL)")
    assert (
        cell_errors.joined(cell_errors.failure_parts([lost], (0, 1)))
        == "Rank 1 was lost: killed by signal 9 (SIGKILL)."
    )


def test_a_stop_is_told_by_its_kind_and_not_by_its_words() -> None:
    stopped = [Failure(rank, "stopped", "RankLost", "in other words") for rank in (0, 1)]
    assert [part.code for part in cell_errors.failure_parts(stopped, (0, 1))] == ["stopped"]
    noon = time.mktime((2026, 11, 26, 12, 4, 0, 0, 0, -1))
    by = Ending("kernel", "/home/me/b.ipynb", noon)
    (part,) = cell_errors.failure_parts(stopped, (0, 1), by)
    assert part.text.startswith("The cluster was stopped by b.ipynb ")
    assert part.values == {"ranks": "0-1", "by": "kernel", "at": noon, "notebook": "b.ipynb"}
    assert cluster_endings.stopped_by(by, "/home/me/b.ipynb", now=noon) == " by this notebook at 12:04"
    assert cluster_endings.stopped_by(by, now=noon + 86400) == " by b.ipynb on 26 November at 12:04"
    assert cluster_endings.stopped_by(Ending("server", None, noon), now=noon) == " in JupyterLab at 12:04"
    shutdown = Ending("shutdown", None, noon)
    assert cluster_endings.stopped_by(shutdown, now=noon) == " with the Jupyter server at 12:04"
    for idle_s, said in ((1800, "30 min"), (5400, "1 h 30 min"), (7200, "2 h")):  # as the page writes it
        idle = Ending("idle", None, noon, idle_s)
        assert cluster_endings.stopped_by(idle, now=noon) == f" at 12:04: it ran no cell for {said}"
    assert cluster_endings.stopped_by(Ending()) == cluster_endings.stopped_by(None) == ""
    lost = Failure(1, "lost", "RankLost", cell_errors.STOPPED)
    assert [part.code for part in cell_errors.failure_parts([stopped[0], lost], (0, 1))] == ["lost"]
    for failures, kind in ((stopped, RanksStopped), ([stopped[0], lost], RanksFailed)):
        with pytest.raises(RanksFailed) as raised:
            Result(CellResult("[1]", (0, 1), tuple(failures)), ()).raise_failure()
        assert type(raised.value) is kind


def test_equal_tracebacks_are_shown_once_with_the_source_line() -> None:
    frames = (
        Frame("cell [5]", 3, "<module>", "train(batch)", "[5]"),
        Frame("/x/site-packages/torch/nn/module.py", 10, "call", "return f()"),
        Frame("/x/site-packages/torch/nn/linear.py", 20, "forward", "return g()"),
    )
    found = [Failure(r, "raised", "ValueError", "no", frames) for r in (0, 1)]
    lines = cell_errors.render_failure(found, "Ranks 0–1 failed.")
    assert lines.count("Ranks 0–1: ValueError: no") == 1
    assert "  cell [5], line 3" in lines
    assert "----> 3 train(batch)" in lines
    assert "  … 1 library frame" in lines
    assert "---> 20 return g()" in lines


def test_an_end_that_somebody_asked_for_is_told_from_a_failure() -> None:
    asked = [failed(0, "", "interrupted"), failed(1, "Connection closed by peer")]
    assert cell_errors.own_interrupt(cell_errors.blame(asked))
    assert not cell_errors.own_interrupt(cell_errors.blame([*asked, failed(2, "CUDA out of memory")]))
    assert not cell_errors.own_interrupt([failed(0, "", "interrupted"), failed(1, "killed", "lost")])
    assert not cell_errors.own_interrupt(())
    silent = Failure(0, "interrupted", cell_errors.NO_ANSWER, "")
    assert not cell_errors.own_interrupt([silent])


def test_a_syntax_error_shows_the_users_line_and_a_caret() -> None:
    with pytest.raises(BadCell) as error:
        syntax.check_source("\nx = 1\n  y = = 2", "[10]", 2)
    assert error.value.details["place"] == ["  cell [10], line 4", "    y = = 2"]
    with pytest.raises(BadCell) as error:
        syntax.check_source("\nx = 1\ny = = 2", "[10]", 2)
    assert error.value.details["place"] == ["  cell [10], line 4", "    y = = 2", "        ^"]
    assert error.value.message == "SyntaxError: invalid syntax."


@pytest.mark.parametrize(
    ("code", "said", "line"),
    [
        ("if True:\nx = 1", "IndentationError: expected an indented block after 'if' statement on line 2", 3),
        ("def f():\n    x = 1\n  y = 2", "IndentationError: unindent does not match", 4),
        ("return 5", "SyntaxError: 'return' outside function", 2),
        ("%%time\n\nx = (", "SyntaxError: '(' was never closed", 4),
        ("  x = 1\n  y = = 2", "SyntaxError: invalid syntax", 3),
    ],
)
def test_numbers_of_lines_are_those_that_the_user_sees(code: str, said: str, line: int) -> None:
    with pytest.raises(BadCell) as error:
        syntax.check_source(code, "[3]", 2)
    assert error.value.message.startswith(said)
    place, text, *_ = error.value.details["place"]
    assert place == f"  cell [3], line {line}"
    assert text.strip() == code.splitlines()[line - 2].strip()


def test_a_check_says_no_warning_of_its_own(recwarn: pytest.WarningsRecorder) -> None:
    syntax.check_source("x = 1\nprint(x is 'a', '\\d')")
    assert not recwarn.list


def test_a_traceback_shows_the_lines_above_and_their_numbers_stand_in_one_column() -> None:
    frames = (
        Frame("cell [12]", 5, "<module>", "mean = normalize(rows)", "[12]", ("rows = load()", "")),
        Frame("/home/u/prep.py", 31, "normalize", "    pad = max(lengths)", None, ("    lengths = []",)),
    )
    assert cell_errors.render_frames(frames) == [
        "  cell [12], line 5",
        "      3 rows = load()",
        "      4",
        "----> 5 mean = normalize(rows)",
        "  /home/u/prep.py:31, in normalize",
        "     30     lengths = []",
        "---> 31     pad = max(lengths)",
    ]


def test_a_traceback_counts_repeated_frames_and_of_very_many_those_left_out() -> None:
    calls = Frame("cell [3]", 3, "<module>", "rec(0)", "[3]")
    again = Frame("cell [3]", 2, "rec", "def rec(n): return rec(n+1)", "[3]")
    frames = left_frames.shortened([calls, *[again] * 970])
    assert len(frames) == 4
    assert cell_errors.render_frames(frames)[-3:] == [
        "  cell [3], line 2, in rec",
        "----> 2 def rec(n): return rec(n+1)",
        "  … the frame above repeated 967 more times",
    ]
    assert left_frames.shortened([calls, *[again] * 3]) == (calls, again, again, again)
    # two functions that call each other
    turns = [Frame("cell [3]", 1 + i % 2, "ab"[i % 2], "", "[3]") for i in range(969)]
    frames = left_frames.shortened([calls, *turns])
    assert len(frames) == 40
    assert "  … 930 frames left out" in cell_errors.render_frames(frames)
    # within what a library does
    library = Frame("/x/site-packages/a.py", 1, "f", "g()")
    rows = cell_errors.render_frames(left_frames.shortened([calls, *[library] * 9, again]))
    assert "  … 9 library frames" in rows


def test_ones_own_interrupt_is_told_from_what_else_ends_a_cell() -> None:
    interrupted = Failure(0, "interrupted", "KeyboardInterrupt", "")
    aborted = Failure(1, "aborted", "RuntimeError", "Connection closed by peer")
    assert cell_errors.own_interrupt([interrupted, aborted])
    for other in (
        Failure(1, "raised", "ValueError", "x"),
        Failure(1, "lost", "RankLost", "killed"),
        Failure(1, "interrupted", cell_errors.NO_ANSWER, ""),
    ):
        assert not cell_errors.own_interrupt([interrupted, other])
    assert not cell_errors.own_interrupt([])


def test_frames_of_our_own_are_told_from_the_users_in_every_package() -> None:
    package = Path(dtrain_lab.__file__).parent
    packages = {p.parent.name for p in package.glob("*/__init__.py")}
    clients = {"server", "kernel", "cli", "api", "services", "backends", "head"}
    assert set(cell_errors.PACKAGES) == packages - clients
    assert Path(tracing.OURS) == package
    assert tracing.OURS.endswith("/"), "dtrain_lab_of_mine is somebody else's"
