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


def test_output_names_the_output_widget_that_captures_it() -> None:
    views = WidgetViews()
    table: dict[str, Any] = {"data": {"text/html": "table"}, "transient": {"display_id": "t"}}
    assert views.marked("display_data", table, "a") is table
    assert views.text("a") == b""
    views.note("comm_msg", message("out", msg_id="1"))
    views.note("comm_msg", message("inner", msg_id="1"))
    assert views.marked("clear_output", {"wait": True}, "a")["transient"] == {"inside": "inner"}
    assert msgspec.json.decode(views.text("a")) == {"transient": {"inside": "inner"}}
    views.note("comm_msg", message("inner", msg_id=""))
    assert views.marked("display_data", table, "a")["transient"] == {"display_id": "t", "inside": "out"}
    assert views.marked("stream", {"name": "stdout"}, "a") == {"name": "stdout"}
    views.note("comm_msg", message("out", msg_id="", outputs=[]))  # the front end's state
    views.note("comm_msg", message("out", msg_id=""))
    assert views.marked("display_data", table, "a") is table
    assert views.text("a") == b""


def test_a_front_end_that_stores_captured_output_is_reported_in_each_cell_with_such_output() -> None:
    views = WidgetViews()
    echo = message("out", outputs=[{"output_type": "stream"}])
    echo["data"]["method"] = "echo_update"
    assert views.notices("comm_msg", echo, "a", 1) == [], "output of a widget's own, by append_stdout"
    views.note("comm_msg", message("out", msg_id="1"))
    views.text("a")
    views.text("b")
    assert views.notices("comm_msg", message("out", outputs=[]), "a", 1) == [], "the rank's own change"
    assert told(views.notices("comm_msg", echo, "a", 1)) == [("a", {"taken": "out"}), ("b", {"taken": "out"})]
    assert views.notices("comm_msg", echo, "a", 1) == []
