"""What an Output widget has captured, as a page would store it."""

from __future__ import annotations

from typing import Any

from dtrain_lab.rank.output import captured
from dtrain_lab.rank.output.captured import Captured


def prints(widget: Captured, text: str, name: str = "stdout") -> None:
    widget.add("stream", {"name": name, "text": text})


def stream(text: Any, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def test_outputs_are_those_of_a_notebook() -> None:
    widget = Captured()
    prints(widget, "a")
    prints(widget, "b\n")
    prints(widget, "!", "stderr")
    widget.add("display_data", {"data": {"text/html": "x"}, "metadata": {}, "transient": {"display_id": "1"}})
    widget.add("error", {"ename": "E", "evalue": "v", "traceback": ["t"]})
    shown = [
        stream("ab\n"),
        stream("!", "stderr"),
        {"output_type": "display_data", "data": {"text/html": "x"}, "metadata": {}},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"]},
    ]
    assert widget.outputs() == shown
    widget.add("clear_output", {"wait": True})
    assert widget.outputs() == shown
    prints(widget, "new")
    assert widget.outputs() == [stream("new")]
    widget.add("clear_output", {"wait": False})
    assert widget.outputs() == []


def test_a_front_end_that_stores_all_is_told_from_one_that_does_not() -> None:
    widget = Captured()
    prints(widget, "10%\r20%\n")
    prints(widget, "done\n")
    assert widget.covered_by([stream("10%\r20%\ndone\n")])
    assert widget.covered_by([stream(["20%\n", "done\n"])])
    assert widget.covered_by([stream("20%\n"), stream("done\n")])
    assert not widget.covered_by([stream("done\n")])
    assert not widget.covered_by([])


def test_the_beginning_of_much_is_left_out_which_a_front_end_may_have() -> None:
    widget = Captured()
    lines = [f"line {i}\n" for i in range(captured.MOST // 6)]
    for line in lines:
        prints(widget, line)
    (kept,) = widget.outputs()
    assert len(kept["text"]) == captured.MOST
    assert widget.covered_by([stream("".join(lines))])
    assert not widget.covered_by([stream("".join(lines[:-1]))])
