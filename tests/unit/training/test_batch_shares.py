"""Which batches a rank takes: each once, in order, whatever is there already."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrain_lab.training.inference.batch_shares import (
    CHUNK_SAMPLES,
    ROUNDS,
    Batches,
    in_order,
    missing,
    plan,
    usual_batch_size,
)


@given(
    samples=st.integers(1, 5000),
    size=st.integers(1, 70),
    ranks=st.integers(1, 9),
    done=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 40)), max_size=5),
)
def test_every_sample_is_taken_once_on_any_number_of_ranks(
    samples: int, size: int, ranks: int, done: list[tuple[int, int]]
) -> None:
    batches = Batches(samples, size)
    there = [range(first, min(first + count, len(batches))) for first, count in done if first < len(batches)]
    made = plan(batches, ranks, there)
    taken = [number for rank in range(ranks) for number in made.mine(rank)]
    assert sorted(taken) == sorted(set(range(len(batches))) - {n for one in there for n in one})
    in_rounds = [n for r in range(made.rounds) for rank in range(ranks) for n in made.chunk(r, rank)]
    assert in_rounds == sorted(taken), "rounds go on in the dataset's order"
    for rank in range(ranks):
        mine = [n for r in range(made.rounds) for n in made.chunk(r, rank)]
        assert mine == made.mine(rank)
    indices = [index for number in range(len(batches)) for index in batches.of(number)]
    assert indices == list(range(samples)), "batches are those of one process"


@given(samples=st.integers(1, 200_000), size=st.integers(1, 64), ranks=st.integers(1, 64))
def test_ranks_have_equal_work_and_a_crash_costs_little_of_it(samples: int, size: int, ranks: int) -> None:
    made = plan(Batches(samples, size), ranks)
    counts = [len(made.mine(rank)) for rank in range(ranks)]
    largest = max(map(len, made.chunks))
    assert max(counts) - min(counts) <= largest
    assert largest == 1 or largest <= max(counts) / ROUNDS
    assert largest == 1 or largest * size <= CHUNK_SAMPLES
    assert made.steps(0) == largest


def test_more_ranks_than_batches() -> None:
    made = plan(Batches(5, 3), 4)
    assert [made.mine(rank) for rank in range(4)] == [[0], [1], [], []]
    assert (made.rounds, made.chunk(0, 3)) == (1, range(0))


@pytest.mark.parametrize(
    ("samples", "size"), [(1, 1), (64, 1), (65, 2), (640, 10), (2047, 32), (2048, 32), (10**9, 32)]
)
def test_a_small_dataset_makes_enough_batches_for_many_ranks(samples: int, size: int) -> None:
    assert usual_batch_size(samples) == size


def test_what_is_missing_of_parts_that_a_crash_left() -> None:
    assert missing(10, []) == [range(10)]
    assert missing(10, [range(4, 6), range(0, 2)]) == [range(2, 4), range(6, 10)]
    assert missing(10, [range(0, 10)]) == []
    batches = Batches(10, 4)
    assert batches.whole(range(4, 10)) == range(1, 3)
    assert batches.whole(range(0, 4)) == range(1)
    assert [batches.whole(span) for span in (range(4, 7), range(2, 8), range(4, 4), range(8, 12))] == [
        None
    ] * 4


def test_spans_that_overlap_or_leave_a_gap_are_no_whole() -> None:
    assert in_order([range(4, 6), range(0, 4)]) == [range(0, 4), range(4, 6)]
    for spans in ([range(0, 4), range(5, 6)], [range(0, 4), range(3, 6)], [range(1, 2)]):
        with pytest.raises(ValueError, match="missing"):
            in_order(spans)
