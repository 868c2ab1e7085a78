"""A rank stores in its Output widgets what no page does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from dtrain_lab.rank.output import stored_outputs
from dtrain_lab.rank.output.stored_outputs import StoredOutputs
from dtrain_lab.rank.output.widget_views import WidgetViews
from dtrain_lab.wire.links import Comm


class Loop:
    """A loop whose time passes when the test says so."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Callable[[], None]]] = []

    def call_soon_threadsafe(self, call: Callable[..., None], *of: Any) -> None:
        call(*of)

    def call_later(self, after: float, call: Callable[..., None], *of: Any) -> None:
        self.later.append((after, lambda: call(*of)))

    def passes(self) -> list[float]:
        due, self.later = self.later, []
        for _, call in due:
            call()
        return [after for after, _ in due]


class Widget:
    """An Output widget's comm, which answers as ipywidgets does."""

    def __init__(self, views: WidgetViews) -> None:
        self.views = views
        self.outputs: list[Any] = []

    def handle_msg(self, message: dict[str, Any]) -> None:
        state = message["content"]["data"]["state"]
        self.outputs = state["outputs"]
        content = {"comm_id": "out", "data": {"method": "echo_update", "state": state}}
        self.views.notices("comm_msg", content, "a", 0)

    def store(self, *texts: str) -> None:
        """Tell it, as a page, what the page has captured."""
        outputs = [{"output_type": "stream", "name": "stdout", "text": text} for text in texts]
        self.handle_msg({"content": {"data": {"state": {"outputs": outputs}}}})

    @property
    def text(self) -> str:
        return "".join(output["text"] for output in self.outputs)


class Scene:
    """A rank whose widget captures all that it prints."""

    def __init__(self) -> None:
        self.loop, self.views = Loop(), WidgetViews()
        self.widget = Widget(self.views)
        loop: Any = self.loop
        self.stored = StoredOutputs(loop, self.views, {"out": self.widget}, self.send)
        self.views.begin_cell("a")
        state = {"msg_id": "1"}
        self.views.note("comm_msg", {"comm_id": "out", "data": {"method": "update", "state": state}})

    def send(self, order: Comm, done: Callable[[], None]) -> None:
        self.widget.handle_msg({"content": msgspec.json.decode(order.data)})
        done()

    def prints(self, text: str) -> None:
        self.views.text("a", "stdout", text)


def test_a_page_that_asks_is_told_all_and_then_what_comes() -> None:
    scene = Scene()
    scene.prints("1\n")
    scene.widget.store("1\n")
    scene.prints("2\n")
    assert scene.widget.text == "1\n"
    scene.stored.asked("out")
    assert scene.widget.text == "1\n2\n"
    scene.loop.passes()
    scene.prints("3\n")
    scene.prints("4\n")
    assert scene.loop.passes() == [stored_outputs.STORE_S]
    assert scene.widget.text == "1\n2\n3\n4\n"
    # a callback of that page prints: the page has captured only this
    scene.prints("5\n")
    scene.prints("clicked\n")
    scene.widget.store("1\n2\n3\n4\n", "clicked\n")
    scene.loop.passes()
    assert scene.widget.text == "1\n2\n3\n4\n5\nclicked\n"
    scene.prints("last\n")
    scene.stored.end_cell()
    assert scene.widget.text.endswith("clicked\nlast\n")


def test_a_page_that_stores_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.prints("1\n")
    scene.widget.store("1\n")
    scene.prints("2\n")
    assert scene.loop.passes() == [stored_outputs.PAGE_S]
    assert scene.widget.text == "1\n", "the page has stored something just now"
    scene.stored.end_cell()
    assert scene.widget.text == "1\n"
    # it has stored nothing for long
    monkeypatch.setattr(stored_outputs, "PAGE_S", 0.0)
    scene.loop.passes()
    assert scene.widget.text == "1\n2\n"
    assert scene.loop.later == []
