"""Output widgets of ranks that share a cell."""

from __future__ import annotations

from typing import Any

import msgspec

from dtrain_lab.kernel.output.output_widgets import OutputWidgets
from dtrain_lab.wire.links import CellOutput

PARENT = {"header": {"msg_id": "asked"}}


def names(comm: str, message: str) -> dict[str, Any]:
    state = {"msg_id": message}
    return {"comm_id": comm, "data": {"method": "update", "state": state, "buffer_paths": []}}


def text(rank: int) -> CellOutput:
    return CellOutput("x", rank, "stdout", "hello\n")


def test_each_piece_of_a_rank_goes_into_its_own_widget() -> None:
    captures = OutputWidgets(PARENT, alone=False)
    assert captures.see(0, names("a", "cell of the rank"))
    assert captures.see(1, names("b", "cell of the rank"))
    assert captures.holds(text(0))
    assert not captures.holds(text(2))
    assert captures.around(text(1)) == [
        ("comm_msg", names("b", "asked")),
        ("stream", {"name": "stdout", "text": "hello\n"}),
        ("comm_msg", names("b", "")),
    ]
    assert captures.see(1, names("b", ""))
    assert not captures.holds(text(1))
    assert captures.holds(text(0))


def test_a_widget_within_a_widget_takes_what_comes_until_it_ends() -> None:
    captures = OutputWidgets(PARENT, alone=False)
    captures.see(0, names("outer", "x"))
    captures.see(0, names("inner", "x"))
    assert captures.around(text(0))[0] == ("comm_msg", names("inner", "asked"))
    captures.see(0, names("inner", ""))
    assert captures.around(text(0))[0] == ("comm_msg", names("outer", "asked"))


def test_a_rank_alone_says_it_itself_with_the_message_that_it_does_not_know() -> None:
    captures = OutputWidgets(PARENT, alone=True)
    content = names("a", "cell of the rank")
    assert captures.see(0, content)
    assert content == names("a", "asked")
    assert captures.around(text(0)) == [("stream", {"name": "stdout", "text": "hello\n"})]


def test_other_news_of_widgets_is_none_of_its_business() -> None:
    captures = OutputWidgets(PARENT, alone=False)
    moved = {"comm_id": "a", "data": {"method": "update", "state": {"value": 3}}}
    whole = {"comm_id": "a", "data": {"method": "update", "state": {"msg_id": "", "outputs": []}}}
    assert not captures.see(0, moved)
    assert not captures.see(0, whole)
    assert not captures.see(0, {"comm_id": "a"})


def test_what_the_journal_is_told_of_a_captured_exception_is_not_stored_in_the_widget() -> None:
    captures = OutputWidgets(PARENT, alone=True)
    captures.see(0, names("a", "cell of the rank"))
    error = {"ename": "ZeroDivisionError", "evalue": "by 0", "traceback": ["by 0"]}
    marked = msgspec.json.encode({**error, "transient": {"inside": "a"}})
    assert captures.around(CellOutput("x", 0, "error", data=marked)) == [("error", error)]
