"""Tables of the terminal: nothing in them is cut, at any width, and none is wider than the terminal."""

from __future__ import annotations

import io
import os
import sys

import pytest
from rich.cells import cell_len

from dtrain_lab.cli.base.tables import print_table, table_lines

JOBS = ("id", "name", "state", "profile", "size", "time", "")
ROWS = [
    (
        "0a1b2c3d4e5f",
        "finetune-a-large-model-with-a-long-name",
        "succeeded",
        "our-cluster",
        "2 × 8",
        "3 h 12 min",
        "Succeeded after 12,000 steps; its last checkpoint is of step 12,000.",
    ),
    ("f5e4d3c2b1a0", "训练", "running", "local", "1 × 2", "12 s", "Trains. 1,234 samples/s."),
]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200, None])
def test_nothing_is_cut(width: int | None) -> None:
    lines = table_lines(JOBS, ROWS, width)
    words = " ".join(lines).split()
    for row in ROWS:
        assert [word for text in row for word in text.split() if word not in words] == []
    if width is not None and width >= 60:
        assert [line for line in lines if cell_len(line) > width] == []


def test_a_row_is_one_line_where_a_program_reads_it() -> None:
    lines = table_lines(JOBS, ROWS, None)
    assert len(lines) == 1 + len(ROWS)
    assert lines[2].split()[-1] == "samples/s."


def test_what_does_not_fit_stands_below_its_row_with_its_name() -> None:
    assert table_lines(JOBS, ROWS[1:], 50) == [
        "id            name  state    profile  size   time",
        "f5e4d3c2b1a0  训练  running  local    1 × 2  12 s",
        "    Trains. 1,234 samples/s.",
    ]
    assert table_lines(JOBS, ROWS[1:], 44) == [
        "id            name  state    profile  size",
        "f5e4d3c2b1a0  训练  running  local    1 × 2",
        "    time 12 s · Trains. 1,234 samples/s.",
    ]


def test_numbers_end_at_the_same_column() -> None:
    assert table_lines(("rank", "step"), [("0", "5"), ("1", "1,200")], None, right=("rank", "step")) == [
        "rank   step",
        "   0      5",
        "   1  1,200",
    ]


def test_the_width_is_the_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(os, "environ", {**os.environ, "COLUMNS": "80"})
    for screen, wide in ((Terminal(), False), (io.StringIO(), True)):
        monkeypatch.setattr(sys, "stdout", screen)
        print_table(JOBS, ROWS)
        assert any(cell_len(line) > 90 for line in screen.getvalue().splitlines()) is wide
