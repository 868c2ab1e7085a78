"""What an Output widget has captured, as a page would store it."""

from __future__ import annotations

from typing import Any

import pytest

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


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (("abcdef\rxy", "z"), "xyzdef"),
        (("10%", "\r20%", "\r", "30%", "\r", "\n", "\rend"), "30%\nend"),
        (("a\r\nb\r", "\n", "c"), "a\nb\nc"),
        (("long line\rshort\n", "new"), "shortline\nnew"),
    ],
)
def test_text_that_returns_overwrites_the_line_in_whatever_pieces_it_comes(
    printed: tuple[str, ...], shown: str
) -> None:
    widget = Captured()
    for text in printed:
        prints(widget, text)
        widget.outputs()
    assert widget.covered_by([stream(shown)])
    assert widget.covered_by([stream("".join(printed))])
    assert not widget.covered_by([stream(f"{shown}!")])


def test_what_a_progress_bar_has_overwritten_is_not_kept() -> None:
    widget = Captured()
    for step in range(1000):
        prints(widget, f"\r{step:4} of 1000")
        widget.outputs()
    assert widget.outputs() == [stream(" 999 of 1000")]


def test_a_front_end_that_stores_less_is_known_by_the_end() -> None:
    class Compared(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            compared.append(self)
            return super().__eq__(other)

    compared: list[Compared] = []
    widget = Captured()
    shown = [
        {"output_type": "display_data", "data": {"text/html": str(i)}, "metadata": {}} for i in range(99)
    ]
    for display in shown:
        widget.add("display_data", display)
    stored = [{**display, "data": Compared({"text/html": i})} for i, display in enumerate(shown)]
    assert not widget.covered_by(stored[:-1])
    assert not widget.covered_by(stored)
    assert len(compared) == 1, "the last one"
    assert widget.covered_by(
        [{**display, "data": {"text/html": [str(i)]}} for i, display in enumerate(shown)]
    )


def test_the_beginning_of_much_is_left_out_which_a_front_end_may_have() -> None:
    widget = Captured()
    lines = [f"line {i}\n" for i in range(captured.MOST // 6)]
    for line in lines:
        prints(widget, line)
    (kept,) = widget.outputs()
    assert len(kept["text"]) == captured.MOST
    assert widget.covered_by([stream("".join(lines))])
    assert not widget.covered_by([stream("".join(lines[:-1]))])
