from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dtrain_lab.cells.queue import Entry, Queue, add, ahead_of, end, narrow


def entry(cell: str, *ranks: int) -> Entry:
    return Entry(cell, frozenset(ranks))


def test_disjoint_cells_run_at_once_overlapping_ones_in_order() -> None:
    queue, begun = add(Queue(), entry("a", 0, 1))
    assert [t.cell for t in begun] == ["a"]
    queue, begun = add(queue, entry("b", 1, 2))
    assert not begun
    queue, begun = add(queue, entry("c", 3))
    assert [t.cell for t in begun] == ["c"]
    queue, begun = end(queue, "a")
    assert [t.cell for t in begun] == ["b"]


def test_a_cell_that_keeps_some_of_its_ranks_frees_the_others() -> None:
    queue, _ = add(Queue(), entry("a", 0, 1))
    queue, _ = add(queue, entry("b", 0))
    queue, _ = add(queue, entry("c", 1))
    queue, begun = narrow(queue, "a", frozenset({1}))
    assert [t.cell for t in begun] == ["b"]
    queue, begun = end(queue, "a")
    assert [t.cell for t in begun] == ["c"]


def test_whom_a_cell_waits_for_runs_or_came_before_it_on_its_ranks() -> None:
    queue = Queue()
    for name, ranks in (("a", (0,)), ("b", (1,)), ("c", (0, 1)), ("d", (1,)), ("e", (2,))):
        queue, _ = add(queue, entry(name, *ranks))
    assert ahead_of(queue, "c") == ("a", "b")
    assert ahead_of(queue, "d") == ("b", "c")
    assert ahead_of(queue, "a") == ahead_of(queue, "e") == ()


def test_a_later_cell_never_overtakes_one_that_waits_for_its_ranks() -> None:
    queue, _ = add(Queue(), entry("a", 0))
    queue, _ = add(queue, entry("b", 0, 1))
    queue, begun = add(queue, entry("c", 1))
    assert not begun
    queue, begun = end(queue, "a")
    assert [t.cell for t in begun] == ["b"]
    queue, begun = end(queue, "b")
    assert [t.cell for t in begun] == ["c"]


def test_a_withdrawn_cell_lets_the_next_begin() -> None:
    queue, _ = add(Queue(), entry("a", 0))
    queue, _ = add(queue, entry("b", 0, 1))
    queue, _ = add(queue, entry("c", 1))
    _, begun = end(queue, "b")
    assert [t.cell for t in begun] == ["c"]


@given(st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=12))
def test_every_cell_runs_once_and_each_rank_sees_the_order_of_arrival(sets: list[set[int]]) -> None:
    queue, started, running = Queue(), [], []
    for index, ranks in enumerate(sets):
        queue, begun = add(queue, Entry(str(index), frozenset(ranks)))
        started += begun
        running += begun
    while running:
        queue, begun = end(queue, running.pop(0).cell)
        started += begun
        running += begun
    assert sorted(int(t.cell) for t in started) == list(range(len(sets)))
    for rank in range(4):
        mine = [int(t.cell) for t in started if rank in t.ranks]
        assert mine == sorted(mine)
