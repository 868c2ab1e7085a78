from __future__ import annotations

from dtrain_lab.core.cluster import Where
from dtrain_lab.core.hangs import BACKWARD, slow, verdict
from dtrain_lab.core.wire.links import RankSample


def waits(rank: int, seconds: float, operation: str = "all_reduce") -> RankSample:
    return RankSample(rank=rank, operation=operation, sequence=7, in_operation_s=seconds)


def works(rank: int) -> RankSample:
    return RankSample(rank=rank)


def test_the_rank_that_never_came_is_named_with_its_line() -> None:
    where = Where(cell="[7]", line=6)
    found = verdict([waits(0, 14), works(1), waits(2, 14)], (0, 1, 2), (0, 1, 2), 3, {1: where})
    assert found is not None
    assert found.text == "Rank 1 is stuck. 2 ranks wait for it."
    assert (found.kind, found.ranks, found.peers, found.operation, found.sequence) == (
        "stuck", (1,), (0, 2), "all_reduce", 7,
    )  # fmt: skip
    assert found.where == where


def test_below_the_threshold_nobody_is_blamed() -> None:
    assert verdict([waits(0, 9), works(1)], (0, 1), (0, 1), 2, {}) is None


def test_ranks_outside_the_cell_are_told_apart_from_those_that_have_left_it() -> None:
    outside = verdict([waits(0, 12), works(1)], (0,), (0,), 2, {})
    left = verdict([waits(0, 12), works(1)], (0,), (0, 1), 2, {})
    assert outside is not None
    assert outside.text == "Rank 0 waits in all_reduce; rank 1 doesn't run this cell."
    assert left is not None
    assert left.text == "Rank 0 waits in all_reduce; rank 1 has ended the cell."


def test_all_in_collectives_is_no_progress_but_a_long_backward_everywhere_is_work() -> None:
    both = verdict([waits(0, 12), waits(1, 12, "broadcast")], (0, 1), (0, 1), 2, {})
    assert both is not None
    assert (both.kind, both.ranks) == ("unknown", ())
    assert "all_reduce and broadcast" in both.text
    assert verdict([waits(0, 12, BACKWARD), waits(1, 12, BACKWARD)], (0, 1), (0, 1), 2, {}) is None


def step(rank: int, step_s: float, exposed_s: float, steps: int = 50) -> RankSample:
    return RankSample(rank=rank, step=steps, step_s=step_s, exposed_s=exposed_s)


def test_the_rank_whose_own_time_is_long_is_slow_though_all_steps_take_as_long() -> None:
    found = slow([step(0, 0.1, 0.05), step(1, 0.1, 0.0), step(2, 0.1, 0.05)], 0.05)
    assert found is not None
    assert (found.kind, found.ranks, found.peers) == ("slow", (1,), (0, 2))
    assert found.text == "Rank 1 is slow. 2 ranks wait for it."
    assert found.hint == "50 ms a step longer than the others."


def test_noise_a_few_steps_and_less_than_the_error_are_no_slow_rank() -> None:
    assert slow([step(0, 0.1, 0.05), step(1, 0.1, 0.048)], 0.05) is None
    assert slow([step(0, 0.1, 0.05, 5), step(1, 0.1, 0.0, 5)], 0.05) is None
    assert slow([step(0, 0.1, 0.05), step(1, 0.1, 0.03)], 0.25) is None
    assert slow([step(0, 0.1, 0.0)], 0.05) is None
    spread = [step(0, 0.1, 0.02), step(1, 0.1, 0.05), step(2, 0.1, 0.08), step(3, 0.1, 0.01)]
    assert slow(spread, 0.05) is None


def test_ranks_that_wait_for_ranks_without_the_cell_are_told_sooner() -> None:
    found = verdict([waits(0, 6), works(1)], (0,), (0,), 2, {})
    assert found is not None
    assert found.code == "not_in_cell"
    assert verdict([waits(0, 6), works(1)], (0, 1), (0, 1), 2, {}) is None
