"""The gallery's page: how runs are judged, and that a run of some pieces keeps the rows of the others."""

from __future__ import annotations

import json

from gallery.__main__ import FOUND, PAGE, Ran, attempt, judge, page, pieces

RANK = "OWN 100\nNUMBERS 1.5\n"


def test_a_figure_is_off_where_it_differs_from_the_loops_own_count() -> None:
    assert str(judge([RANK, RANK], 104.0)) == "runs; 104 of 100 samples/s"
    assert str(judge([RANK, RANK], 106.0)) == "runs; 106 of 100 samples/s **(off)**"
    assert str(judge([RANK, RANK], None)) == "runs"
    assert judge([RANK, RANK.replace("1.5", "2.5")], 100.0) == Ran("ranks trained different models")
    assert judge([RANK, ""], 100.0) == Ran("it printed no result")


def test_a_run_whose_figure_is_off_is_repeated_and_one_that_fails_is_not() -> None:
    runs = [Ran("", 100.0, 50.0), Ran("", 100.0, 101.0), Ran("", 1.0, 1.0)]
    assert attempt(lambda: runs.pop(0)) == Ran("", 100.0, 101.0)
    runs = [Ran("it ended"), Ran("", 1.0, 1.0)]
    assert attempt(lambda: runs.pop(0)) == Ran("it ended")


def test_the_page_has_a_row_of_each_piece_with_the_day_of_its_run() -> None:
    rows: dict[str, list[str]] = json.loads(FOUND.read_text())
    assert rows.keys() == {file.stem for file in pieces()}
    assert {len(row) for row in rows.values()} == {5}
    assert not [row for row in rows.values() if any(cell.startswith("fails") for cell in row)]
    made = [line for line in page(list(rows.values())).splitlines() if line.startswith("|")]
    assert set(made) <= set(PAGE.read_text().splitlines())
