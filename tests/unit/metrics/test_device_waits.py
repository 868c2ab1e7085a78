"""Hangs on GPUs, where a rank's thread is in no collective: what its GPU waits in, and the verdict."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.metrics.verdicts import hang
from dtrain_lab.metrics.verdicts.device_waits import BACKWARD, WORLD, inferred
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.collective import CollectiveCall

SUBGROUP = 7
BOTH = (0, 1)


def called(number: int, operation: str = "all_reduce", group: int = WORLD, root: int = -1) -> CollectiveCall:
    return CollectiveCall(group, number, operation, "float32", root, (1,))


def quiet(rank: int, *calls: CollectiveCall, averaged: int = 0, seconds: float = 12.0) -> RankSample:
    """A rank whose thread is in no collective, and has been inactive."""
    return RankSample(rank=rank, beat_s=seconds, calls=calls, averaged=averaged)


def waits(
    samples: list[RankSample], busy: tuple[int, ...] = BOTH, in_cell: tuple[int, ...] = BOTH
) -> dict[int, str]:
    found = inferred(samples, busy, in_cell, len(samples))
    return {s.rank: s.operation for s in found if s.operation}


def test_a_rank_that_has_called_more_waits_for_the_one_that_has_called_less() -> None:
    samples = [quiet(0, called(1), called(2)), quiet(1, called(1))]
    first = inferred(samples, BOTH, BOTH, 2)[0]
    assert (first.operation, first.sequence, first.in_operation_s) == ("all_reduce", 2, 12.0)
    found = hang.verdict(inferred(samples, BOTH, BOTH, 2), BOTH, BOTH, 2, {}, lines={1: "time.sleep(600)"})
    assert found is not None
    assert (found.kind, found.ranks, found.peers) == ("stuck", (1,), (0,))
    assert found.text == "Rank 1 is stuck. 1 rank waits for it."
    assert found.hint == "Rank 1 is in this line: time.sleep(600)"


def test_a_rank_that_has_ended_the_cell_is_told_apart() -> None:
    samples = [quiet(0, called(1), called(2)), quiet(1, called(1))]
    found = hang.verdict(inferred(samples, (0,), BOTH, 2), (0,), BOTH, 2, {})
    assert found is not None
    assert found.text == "Rank 0 waits in all_reduce; rank 1 has finished the cell."


def test_a_rank_that_does_not_run_the_cell_is_waited_for_in_the_default_group_only() -> None:
    assert waits([quiet(0, called(1)), quiet(1)], (0,), (0,)) == {0: "all_reduce"}
    assert waits([quiet(0, called(1, group=SUBGROUP)), quiet(1)], (0,), (0,)) == {}


def test_a_rank_that_has_called_nothing_in_the_cell_is_waited_for() -> None:
    assert waits([quiet(0, called(1)), quiet(1)]) == {0: "all_reduce"}


def test_who_called_as_many_waits_for_nobody() -> None:
    assert waits([quiet(0, called(3)), quiet(1, called(3))]) == {}


def test_a_rank_that_works_does_not_report_its_calls_and_is_not_blamed() -> None:
    assert waits([quiet(0, called(2)), quiet(1, seconds=0.1)]) == {}


def test_a_rank_that_is_at_work_itself_waits_for_nobody() -> None:
    assert waits([quiet(0, called(2), seconds=0.1), quiet(1, called(1))]) == {}


def test_members_of_a_subgroup_are_compared_and_others_are_not() -> None:
    mine = called(2, group=SUBGROUP)
    assert waits([quiet(0, mine), quiet(1, called(1, group=SUBGROUP))]) == {0: "all_reduce"}
    assert waits([quiet(0, mine), quiet(1)]) == {}


@pytest.mark.parametrize(
    ("operation", "root", "waiting"),
    [
        ("broadcast", 0, False),  # the root may have sent it already
        ("broadcast", 1, True),
        ("reduce", 1, False),
        ("reduce", 0, True),
        ("broadcast_object_list", -1, False),  # its thread waits: it would be seen there
    ],
)
def test_only_ranks_that_a_call_needs_are_waited_for(operation: str, root: int, waiting: bool) -> None:
    found = waits([quiet(0, called(2, operation, root=root)), quiet(1, called(1))])
    assert found == ({0: operation} if waiting else {})


def test_a_backward_pass_more_waits_for_the_averaging_of_gradients() -> None:
    samples = [quiet(0, averaged=4), quiet(1, averaged=3)]
    assert waits(samples) == {0: BACKWARD}
    found = hang.verdict(inferred(samples, (0,), BOTH, 2), (0,), BOTH, 2, {})
    assert found is not None
    assert found.text == "Rank 0 waits in backward; rank 1 has finished the cell."
    assert waits([quiet(0, averaged=3), quiet(1, averaged=3)]) == {}


def test_what_a_thread_waits_in_stays() -> None:
    inside = replace(quiet(0, called(1)), operation="barrier", in_operation_s=3.0)
    assert inferred([inside, quiet(1)], BOTH, BOTH, 2)[0] is inside


def test_a_sample_of_before_the_cell_says_nothing_of_it() -> None:
    """Ranks are idle between cells, with the numbers of the last one."""
    before = [replace(quiet(0, called(2)), idle=True), replace(quiet(1, called(1)), idle=True)]
    assert waits(before) == {}
    assert waits([quiet(0, called(1)), before[1]]) == {}, "the other one has begun sooner"
    ended = replace(quiet(1), idle=True)
    assert waits([quiet(0, called(1)), ended], (0,)) == {0: "all_reduce"}


def test_a_rank_whose_process_has_ended_is_not_known_to_lack_a_call() -> None:
    """Such as a job's rank that was done first: the others save, or plot."""
    found = inferred([quiet(0, called(5, "barrier"))], (0,), (0, 1), 2)
    assert [s.operation for s in found] == [None]


def test_a_call_that_is_no_longer_kept_is_not_taken_for_one_that_never_was() -> None:
    later = tuple(called(number, group=SUBGROUP) for number in range(30, 61))
    busy = replace(quiet(1, *later), calls_noted=61)
    assert waits([quiet(0, called(1, "barrier")), busy]) == {}
    assert waits([quiet(0, called(1, "barrier")), replace(busy, calls_noted=31)]) == {0: "barrier"}


def test_no_call_of_the_cell_before_is_a_mismatch() -> None:
    before = replace(quiet(1, called(1, "broadcast", root=0)), idle=True, stopped=True)
    inside = replace(quiet(0, called(1)), operation="all_reduce", in_operation_s=12.0)
    found = hang.verdict([inside, before], BOTH, BOTH, 2, {})
    assert found is not None
    assert found.code == "halted"
