"""What a rank tells the head's journal of its widgets."""

from __future__ import annotations

from typing import Any

import msgspec

from dtrain_lab.rank.output.widget_views import WidgetViews
from dtrain_lab.wire.links import WIDGET_VIEW, CellOutput


def displayed(widget: str) -> dict[str, Any]:
    return {"data": {WIDGET_VIEW: {"model_id": widget}, "text/plain": "W()"}, "transient": {}}


def message(widget: str, **state: Any) -> dict[str, Any]:
    return {"comm_id": widget, "data": {"method": "update", "state": state}}


def told(notices: list[CellOutput]) -> list[Any]:
    assert {(n.rank, n.kind) for n in notices} <= {(1, "update_display_data")}
    return [(n.cell, msgspec.json.decode(n.data)["transient"]) for n in notices]


def test_a_widget_that_was_displayed_is_reported_once_it_is_closed() -> None:
    views = WidgetViews()
    views.note("display_data", displayed("bar"))
    assert views.notices("comm_close", {"comm_id": "label"}, "a", 1) == []
    assert views.notices("comm_msg", message("bar", value=1), "a", 1) == []
    notices = views.notices("comm_close", {"comm_id": "bar"}, "a", 1)
    assert told(notices) == [("a", {"closed": "bar"})]
    assert msgspec.json.decode(notices[0].data)["data"] == {"text/plain": ""}
    assert views.notices("comm_close", {"comm_id": "bar"}, "a", 1) == []


def echo(widget: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    """What a widget answers to a page that stores its outputs."""
    content = message(widget, outputs=list(outputs))
    content["data"]["method"] = "echo_update"
    return content


def stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def test_output_names_the_output_widget_that_captures_it() -> None:
    views = WidgetViews()
    table: dict[str, Any] = {"data": {"text/html": "table"}, "transient": {"display_id": "t"}}
    assert views.marked("display_data", table, "a") is table
    assert views.text("a", "stdout", "x") == b""
    views.note("comm_msg", message("out", msg_id="1"))
    views.note("comm_msg", message("inner", msg_id="1"))
    assert views.marked("clear_output", {"wait": True}, "a")["transient"] == {"inside": "inner"}
    assert msgspec.json.decode(views.text("a", "stdout", "x")) == {"transient": {"inside": "inner"}}
    views.note("comm_msg", message("inner", msg_id=""))
    assert views.marked("display_data", table, "a")["transient"] == {"display_id": "t", "inside": "out"}
    assert views.marked("stream", {"name": "stdout"}, "a") == {"name": "stdout"}
    error = {"ename": "ZeroDivisionError", "evalue": "by 0", "traceback": ["by 0"]}
    assert views.marked("error", error, "a") == {**error, "transient": {"inside": "out"}}
    views.note("comm_msg", message("out", msg_id="", outputs=[]))  # the front end's state
    views.note("comm_msg", message("out", msg_id=""))
    assert views.marked("display_data", table, "a") is table
    assert views.text("a", "stdout", "x") == b""


def test_a_front_end_that_stores_all_captured_output_is_reported_in_each_cell_with_such_output() -> None:
    views = WidgetViews()
    behind: list[str] = []
    views.behind = behind.append
    stored = echo("out", stream("1\n2\n"))
    assert views.notices("comm_msg", stored, "a", 1) == [], "output of a widget's own, by append_stdout"
    views.note("comm_msg", message("out", msg_id="1"))
    views.text("a", "stdout", "1\n")
    views.text("b", "stdout", "2\n")
    assert behind == ["out", "out"]
    # a page that was loaded meanwhile has captured only the last line
    assert views.notices("comm_msg", echo("out", stream("2\n")), "a", 1) == []
    assert views.unstored("out") == [stream("1\n2\n")]
    told_of = told(views.notices("comm_msg", stored, "a", 1))
    assert told_of == [("a", {"taken": "out"}), ("b", {"taken": "out"})]
    assert views.notices("comm_msg", stored, "a", 1) == []
    assert views.unstored("out") is None


def test_outputs_that_the_users_code_sets_are_all_that_a_widget_has() -> None:
    views = WidgetViews()
    views.note("comm_msg", message("out", msg_id="1"))
    views.text("a", "stdout", "1\n")
    whole = message("out", outputs=[], _model_name="OutputModel")
    views.note("comm_msg", whole)
    assert views.notices("comm_msg", whole, "a", 1) == [], "the answer to a page"
    assert views.unstored("out") == [stream("1\n")]
    views.note("comm_msg", message("out", outputs=[]))
    assert told(views.notices("comm_msg", message("out", outputs=[]), "a", 1)) == [("a", {"taken": "out"})]
    assert views.unstored("out") is None


def test_the_journal_is_told_that_the_rank_stores_what_no_page_does() -> None:
    views = WidgetViews()
    views.begin_cell("a")
    views.note("comm_msg", message("out", msg_id="1"))
    views.text("a", "stdout", "1\n")
    views.store()
    assert msgspec.json.decode(views.text("a", "stdout", "2\n"))["transient"] == {
        "inside": "out",
        "stored": True,
    }
    assert views.all_behind() == ["out"]
    assert told(views.end_cell(1)) == [("a", {"taken": "out"})], "the first line, too"
    views.begin_cell("b")
    assert msgspec.json.decode(views.text("b", "stdout", "3\n"))["transient"] == {"inside": "out"}
    assert views.unstored("out") == [stream("1\n2\n3\n")]
