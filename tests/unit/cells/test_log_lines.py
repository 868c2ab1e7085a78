"""Lines of a stream for a log: the same, however the stream is cut."""

from __future__ import annotations

import pytest

from dtrain_lab.cells.log_lines import LogLines

STREAM = (
    "plain\nof Windows\r\n\nGröße: \x1b[31mred\x1b[0m\n"
    "\rbar:  50%\rbar: 100%\nafter\n"
    "\router: 0\n\rinner: 1\x1b[A\n\rinner: 2\x1b[A\router: 1\n\n"
    "\rgone: 50%\r         \rdone\nleft"
).encode() + b"\xff\xfe"
LINES = [
    *("plain", "of Windows", "", "Größe: \x1b[31mred\x1b[0m", "bar: 100%", "after"),
    *("outer: 1", "inner: 2", "done"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 1000])
def test_lines_are_the_same_however_the_stream_is_cut(size: int) -> None:
    made = LogLines(1000)
    lines = []
    for at in range(0, len(STREAM), size):
        lines += made.feed(STREAM[at : at + size])
    lines += made.finish()
    assert lines == [*(line.encode() for line in LINES), b"left\xff\xfe"]
    assert made.bars == []


def test_a_line_and_bars_have_a_limit() -> None:
    made = LogLines(10)
    assert made.feed(b"x" * 11) == [b"x" * 11]
    assert made.feed(b"\r" + b"y" * 25) == [b"y" * 10, b"y" * 10, b"y" * 5]
    assert made.feed(b"z\n") == [b"z"]


def test_a_quiet_stream_ends_the_lines_above_its_cursor() -> None:
    made = LogLines(1000)
    assert made.feed(b"\rbar: 100%\n") == []
    assert (made.is_below, made.bars) == (True, ["bar: 100%"])
    assert made.settle() == [b"bar: 100%"]
    assert (made.is_below, made.bars, made.finish()) == (False, [], [])
