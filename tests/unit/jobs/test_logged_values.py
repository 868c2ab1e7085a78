"""The lines of `values.jsonl`, as every reader understands them."""

from __future__ import annotations

import pytest

from dtrain_lab.jobs.logged_values import parse
from dtrain_lab.wire.jobs.logged import ValuesLine

LINE = b'{"step": 2, "values": {"loss": 0.5, "rate": "nan"}, "at": 1.0, "averaged": true}'


def test_an_incomplete_last_line_is_left_for_the_next_piece() -> None:
    piece = parse(LINE + b"\n" + LINE[:20])
    assert piece.values == (ValuesLine(2, {"loss": 0.5, "rate": "nan"}, 1.0, averaged=True),)
    assert (piece.unreadable, piece.size) == ((), len(LINE) + 1)


@pytest.mark.parametrize(
    "bad", [b'{"step": 1, "values": {"lo', b'{"step": "1", "values": {}}', b'{"values": {}}', b"7"]
)
def test_a_line_that_can_not_be_read_hides_no_other(bad: bytes) -> None:
    piece = parse(bad + b"\n" + LINE + b"\n")
    assert [one.step for one in piece.values] == [2]
    assert piece.unreadable == (bad,)


def test_a_newer_versions_line_is_read() -> None:
    assert parse(b'{"step": 2, "values": {}, "unit": "s"}\n').values == (ValuesLine(2, {}),)
