"""What a rank tells the head's journal of its widgets."""

from __future__ import annotations

from typing import Any

import msgspec

from dtrain_lab.rank.output.widget_views import WidgetViews
from dtrain_lab.wire.links import WIDGET_VIEW


def displayed(widget: str) -> dict[str, Any]:
    return {"data": {WIDGET_VIEW: {"model_id": widget}, "text/plain": "W()"}, "transient": {}}


def message(widget: str, **state: Any) -> dict[str, Any]:
    return {"comm_id": widget, "data": {"method": "update", "state": state}}


def test_a_widget_that_was_displayed_is_reported_once_it_is_closed() -> None:
    views = WidgetViews()
    views.note("display_data", displayed("bar"))
    assert views.closing("comm_close", {"comm_id": "label"}, "a", 1) is None
    assert views.closing("comm_msg", {"comm_id": "bar"}, "a", 1) is None
    notice = views.closing("comm_close", {"comm_id": "bar"}, "a", 1)
    assert notice is not None
    assert (notice.cell, notice.rank, notice.kind) == ("a", 1, "update_display_data")
    content = msgspec.json.decode(notice.data)
    assert (content["data"], content["transient"]) == ({"text/plain": ""}, {"closed": "bar"})
    assert views.closing("comm_close", {"comm_id": "bar"}, "a", 1) is None


def test_displays_name_the_output_widget_that_captures_them() -> None:
    views = WidgetViews()
    table: dict[str, Any] = {"data": {"text/html": "table"}, "transient": {"display_id": "t"}}
    assert views.marked("display_data", table) is table
    views.note("comm_msg", message("out", msg_id="1"))
    views.note("comm_msg", message("inner", msg_id="1"))
    assert views.marked("clear_output", {"wait": True})["transient"] == {"inside": "inner"}
    views.note("comm_msg", message("inner", msg_id=""))
    assert views.marked("display_data", table)["transient"] == {"display_id": "t", "inside": "out"}
    assert views.marked("stream", {"name": "stdout"}) == {"name": "stdout"}
    views.note("comm_msg", message("out", msg_id="", outputs=[]))  # the front end's state
    views.note("comm_msg", message("out", msg_id=""))
    assert views.marked("display_data", table) is table
