"""Texts of several streams are passed on in the order in which a rank wrote them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dtrain_lab.rank.output import write_order
from dtrain_lab.rank.output.write_order import WriteOrder

NAMES = ("stdout", "stderr")
PARENT: dict[str, Any] = {}


class Streams:
    """Two buffers, and what was passed on."""

    def __init__(self) -> None:
        self.order = WriteOrder()
        self.buffers = dict.fromkeys(NAMES, "")
        self.passed: list[tuple[str, str]] = []

    def write(self, name: str, text: str) -> None:
        self.buffers[name] += text
        self.order.note(name, len(text))

    def flush(self) -> None:
        texts = {name: [(PARENT, text)] if text else [] for name, text in self.buffers.items()}
        self.buffers = dict.fromkeys(NAMES, "")
        self.passed += [(name, text) for name, _, text in self.order.arranged(texts)]

    @property
    def runs(self) -> list[tuple[str, str]]:
        return _runs(self.passed)


def _runs(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    runs: list[tuple[str, str]] = []
    for name, text in texts:
        if runs and runs[-1][0] == name:
            runs[-1] = name, runs[-1][1] + text
        else:
            runs.append((name, text))
    return runs


def test_any_writes_and_flushes_keep_the_order() -> None:
    chance = random.Random(7)
    streams, written = Streams(), []
    for n in range(2000):
        name = chance.choice(NAMES)
        written.append((name, f"{n}\n" * chance.randrange(1, 3)))
        streams.write(*written[-1])
        if chance.random() < 0.1:
            streams.flush()
    streams.flush()
    assert streams.runs == _runs(written)
    assert not streams.order._ends


def test_a_stream_written_to_alone_is_one_text() -> None:
    streams = Streams()
    for n in range(3):
        streams.write("stdout", f"{n}\n")
    streams.flush()
    assert streams.passed == [("stdout", "0\n1\n2\n")]
    assert not streams.order._ends


def test_text_whose_note_is_missing_is_passed_on_and_later_order_is_right() -> None:
    streams = Streams()
    streams.buffers["stdout"] += "interrupted"
    streams.write("stderr", "a\n")
    streams.write("stdout", "b\n")
    streams.flush()
    assert sorted(text for _, text in streams.runs) == ["a\n", "interruptedb\n"]
    for name in NAMES:
        streams.order.match(name)
    streams.passed.clear()
    for name, text in (("stderr", "c\n"), ("stdout", "d\n"), ("stderr", "e\n")):
        streams.write(name, text)
    streams.flush()
    assert [text for _, text in streams.passed] == ["c\n", "d\n", "e\n"]


def test_writes_that_alternate_all_the_time_become_few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_order, "MOST_SWITCHES", 4)
    streams = Streams()
    for n in range(100):
        streams.write(NAMES[n % 2], f"{n}\n")
    streams.flush()
    assert len(streams.passed) <= 6
    assert [text for _, text in streams.passed[:3]] == ["0\n", "1\n", "2\n"]
    for parity, name in enumerate(NAMES):
        whole = "".join(text for of, text in streams.passed if of == name)
        assert whole == "".join(f"{n}\n" for n in range(parity, 100, 2))
    assert not streams.order._ends
