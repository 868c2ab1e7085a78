from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrain_lab.cells import rank_sets
from dtrain_lab.errors import BadRankSet
from dtrain_lab.text import rank_names


@given(st.sets(st.integers(0, 63), min_size=1))
def test_a_compact_set_reads_back(numbers: set[int]) -> None:
    assert set(rank_sets.parse(rank_names.compact(numbers), 64)) == numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", (0, 1, 2, 3)), ("all", (0, 1, 2, 3)), ("2", (2,)), ("0,2-3", (0, 2, 3)), (" 1 , 3 ", (1, 3))],
)
def test_sets_are_read(text: str, expected: tuple[int, ...]) -> None:
    assert rank_sets.parse(text, 4) == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("1,1", "Rank 1 appears twice"),
        ("0-2,1", "Rank 1 appears twice"),
        ("4", "There is no rank 4: there are 4 ranks, ranks 0–3"),
        ("3-1", "runs backwards"),
        ("x", "is not a rank set"),
        ("-1", "is not a rank set"),
        ("1-", "is not a rank set"),
        ("1,,2", "is not a rank set"),
        ("0-99999999", "more ranks than any cluster"),
    ],
)
def test_bad_sets_say_what_is_wrong_and_what_to_do(text: str, part: str) -> None:
    with pytest.raises(BadRankSet, match=part) as error:
        rank_sets.parse(text, 4)
    assert error.value.hint == rank_sets.HINT


def test_an_empty_list_is_no_rank_set() -> None:
    with pytest.raises(BadRankSet, match="names no rank"):
        rank_sets.check([], 4)


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        ([2], "rank 2"),
        ([0, 1, 2], "ranks 0–2"),
        ([3, 0, 2], "ranks 0, 2–3"),
        ([0, 2, 4], "ranks 0, 2, 4"),
    ],
)
def test_names(numbers: list[int], name: str) -> None:
    assert rank_names.name(numbers) == name
