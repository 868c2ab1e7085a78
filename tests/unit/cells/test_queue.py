from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dtrain_lab.cells.queue import Turn, Turns, add, ahead_of, end, keep


def turn(cell: str, *ranks: int) -> Turn:
    return Turn(cell, frozenset(ranks))


def test_disjoint_cells_run_at_once_overlapping_ones_in_order() -> None:
    turns, begun = add(Turns(), turn("a", 0, 1))
    assert [t.cell for t in begun] == ["a"]
    turns, begun = add(turns, turn("b", 1, 2))
    assert not begun
    turns, begun = add(turns, turn("c", 3))
    assert [t.cell for t in begun] == ["c"]
    turns, begun = end(turns, "a")
    assert [t.cell for t in begun] == ["b"]


def test_a_cell_that_keeps_some_of_its_ranks_frees_the_others() -> None:
    turns, _ = add(Turns(), turn("a", 0, 1))
    turns, _ = add(turns, turn("b", 0))
    turns, _ = add(turns, turn("c", 1))
    turns, begun = keep(turns, "a", frozenset({1}))
    assert [t.cell for t in begun] == ["b"]
    turns, begun = end(turns, "a")
    assert [t.cell for t in begun] == ["c"]


def test_whom_a_cell_waits_for_runs_or_came_before_it_on_its_ranks() -> None:
    turns = Turns()
    for name, ranks in (("a", (0,)), ("b", (1,)), ("c", (0, 1)), ("d", (1,)), ("e", (2,))):
        turns, _ = add(turns, turn(name, *ranks))
    assert ahead_of(turns, "c") == ("a", "b")
    assert ahead_of(turns, "d") == ("b", "c")
    assert ahead_of(turns, "a") == ahead_of(turns, "e") == ()


def test_a_later_cell_never_overtakes_one_that_waits_for_its_ranks() -> None:
    turns, _ = add(Turns(), turn("a", 0))
    turns, _ = add(turns, turn("b", 0, 1))
    turns, begun = add(turns, turn("c", 1))
    assert not begun
    turns, begun = end(turns, "a")
    assert [t.cell for t in begun] == ["b"]
    turns, begun = end(turns, "b")
    assert [t.cell for t in begun] == ["c"]


def test_a_withdrawn_cell_lets_the_next_begin() -> None:
    turns, _ = add(Turns(), turn("a", 0))
    turns, _ = add(turns, turn("b", 0, 1))
    turns, _ = add(turns, turn("c", 1))
    _, begun = end(turns, "b")
    assert [t.cell for t in begun] == ["c"]


@given(st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=12))
def test_every_cell_runs_once_and_each_rank_sees_the_order_of_arrival(sets: list[set[int]]) -> None:
    turns, started, running = Turns(), [], []
    for index, ranks in enumerate(sets):
        turns, begun = add(turns, Turn(str(index), frozenset(ranks)))
        started += begun
        running += begun
    while running:
        turns, begun = end(turns, running.pop(0).cell)
        started += begun
        running += begun
    assert sorted(int(t.cell) for t in started) == list(range(len(sets)))
    for rank in range(4):
        mine = [int(t.cell) for t in started if rank in t.ranks]
        assert mine == sorted(mine)
