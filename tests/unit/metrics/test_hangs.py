from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.cells.errors import users_frame
from dtrain_lab.metrics.verdicts import mismatch
from dtrain_lab.metrics.verdicts.activity import activity
from dtrain_lab.metrics.verdicts.hang import BACKWARD, suspects, verdict
from dtrain_lab.metrics.verdicts.hang_verdicts import sentences_with_line
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.collective import CollectiveCall
from dtrain_lab.wire.stacks import Frame, Where


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


def test_the_sentences_of_a_job_have_the_line_in_the_words_of_a_cluster() -> None:
    where = {1: Where(cell="[7]", line=6)}
    found = verdict([waits(0, 14), works(1), waits(2, 14)], (0, 1, 2), (0, 1, 2), 3, where)
    assert found is not None
    assert sentences_with_line(found) == "Rank 1 is stuck in cell [7], line 6. 2 ranks wait for it."
    other = replace(found, text="In the words of an earlier version.")
    assert sentences_with_line(other) == sentences_with_line(found), "no text is edited"
    computing = replace(found, code="computing", text="Rank 1 is still computing. 2 ranks wait for it.")
    assert sentences_with_line(computing) == f"{computing.text} Rank 1 is in cell [7], line 6."
    unknown = verdict([waits(0, 14), works(1), waits(2, 14)], (0, 1, 2), (0, 1, 2), 3, {})
    assert unknown is not None
    assert sentences_with_line(unknown) == unknown.text == found.text


def test_ranks_that_came_later_wait_as_well() -> None:
    found = verdict([waits(0, 14), works(1), waits(2, 3)], (0, 1, 2), (0, 1, 2), 3, {})
    assert found is not None
    assert found.text == "Rank 1 is stuck. 2 ranks wait for it."


def test_below_the_threshold_nobody_is_blamed() -> None:
    assert verdict([waits(0, 9), works(1)], (0, 1), (0, 1), 2, {}) is None


def test_ranks_outside_the_cell_are_told_apart_from_those_that_have_left_it() -> None:
    outside = verdict([waits(0, 12), works(1)], (0,), (0,), 2, {})
    left = verdict([waits(0, 12), works(1)], (0,), (0, 1), 2, {})
    assert outside is not None
    assert outside.text == "Rank 0 waits in all_reduce; rank 1 doesn't run this cell."
    assert left is not None
    assert left.text == "Rank 0 waits in all_reduce; rank 1 has finished the cell."


def test_all_in_collectives_is_no_progress_but_a_long_backward_everywhere_is_work() -> None:
    both = verdict([waits(0, 12), waits(1, 12, "broadcast")], (0, 1), (0, 1), 2, {})
    assert both is not None
    assert (both.kind, both.ranks) == ("unknown", ())
    assert "all_reduce and broadcast" in both.text
    assert verdict([waits(0, 12, BACKWARD), waits(1, 12, BACKWARD)], (0, 1), (0, 1), 2, {}) is None


def test_ranks_that_wait_for_ranks_without_the_cell_are_told_sooner() -> None:
    found = verdict([waits(0, 6), works(1)], (0,), (0,), 2, {})
    assert found is not None
    assert found.code == "not_in_cell"
    assert verdict([waits(0, 6), works(1)], (0, 1), (0, 1), 2, {}) is None


ALL = (0, 1, 2, 3)


def called(rank: int, *calls: CollectiveCall, seconds: float = 12) -> RankSample:
    return replace(waits(rank, seconds, calls[-1].operation), calls=calls)


REDUCE = CollectiveCall(1, 7, "all_reduce", "float32", -1, (1000,))


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (
            CollectiveCall(1, 7, "broadcast", "float32", 0, (1000,)),
            "Rank 3 called broadcast where 3 ranks called all_reduce.",
        ),
        (
            CollectiveCall(1, 7, "all_reduce", "float32", -1, (2000,)),
            "Rank 3 called all_reduce float32[2000] where 3 ranks called all_reduce float32[1000].",
        ),
        (
            CollectiveCall(1, 7, "all_reduce", "float64", -1, (1000,)),
            "Rank 3 called all_reduce float64[1000] where 3 ranks called all_reduce float32[1000].",
        ),
    ],
)
def test_different_calls_under_one_number_are_named(other: CollectiveCall, text: str) -> None:
    before = CollectiveCall(1, 6, "barrier")
    # rank 3's own call was done at once, and it stands in the next one
    last = called(3, before, other, CollectiveCall(1, 8, "all_reduce", "float32", -1, (1000,)))
    found = verdict([*(called(r, before, REDUCE) for r in range(3)), last], ALL, ALL, 4, {})
    assert found is not None
    assert (found.kind, found.ranks, found.peers, found.sequence) == ("mismatch", (3,), (0, 1, 2), 7)
    assert found.text == text
    assert found.hint.startswith("Collective no. 7 of this cell: "), "counted as in the rows of the ranks"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_three_different_calls_are_named_by_rank(order: tuple[int, ...]) -> None:
    names = ("broadcast", "all_reduce", "barrier")
    found = mismatch.find({rank: [CollectiveCall(1, 7, names[rank])] for rank in order})
    assert found is not None
    assert found.text == "Rank 1 called all_reduce and rank 2 called barrier where rank 0 called broadcast."
    assert (found.called.operation, found.ranks, found.peers) == ("all_reduce", (1, 2), (0,))
    assert mismatch.others(found) == {"all_reduce": (1,), "barrier": (2,)}


def test_calls_of_different_groups_are_not_compared() -> None:
    assert mismatch.find({0: [REDUCE], 1: [CollectiveCall(2, 7, "barrier")]}) is None


def test_the_rank_that_calls_once_more_is_at_fault() -> None:
    found = verdict([waits(1, 12), *(works(r) for r in (0, 2, 3))], (1,), ALL, 4, {})
    assert found is not None
    assert (found.kind, found.code, found.ranks, found.peers) == ("mismatch", "extra", (1,), (0, 2, 3))
    assert found.text == "Rank 1 called all_reduce once more than ranks 0, 2–3, which have finished the cell."


def test_a_stopped_process_is_no_stuck_one() -> None:
    samples = [*(waits(r, 12) for r in range(3)), replace(works(3), stopped=True)]
    found = verdict(samples, ALL, ALL, 4, {})
    assert found is not None
    assert (found.kind, found.code, found.ranks) == ("stuck", "halted", (3,))


@pytest.mark.parametrize(
    ("late", "activities", "kind", "text"),
    [
        (replace(works(3), doing="data"), {}, "input_bound", "Rank 3 waits for data. 3 ranks wait for it."),
        (works(3), {3: "compile"}, "slow", "Rank 3 compiles. 3 ranks wait for it."),
        (works(3), {3: "checkpoint"}, "slow", "Rank 3 reads or writes a checkpoint. 3 ranks wait for it."),
        (replace(works(3), beat_s=0.3, step=9), {}, "slow", "Rank 3 works on. 3 ranks wait for it."),
        (replace(works(3), beat_s=30.0, step=9), {}, "stuck", "Rank 3 is stuck. 3 ranks wait for it."),
    ],
)
def test_a_rank_that_works_is_waited_for_without_an_alarm(
    late: RankSample, activities: dict[int, str], kind: str, text: str
) -> None:
    found = verdict([*(waits(r, 12) for r in range(3)), late], ALL, ALL, 4, {}, activities=activities)
    assert found is not None
    assert (found.kind, found.text) == (kind, text)


@pytest.mark.parametrize(
    ("cpu", "starved", "code", "text"),
    [
        (1.0, 0.0, "computing", "Rank 3 is still computing. 3 ranks wait for it."),
        (0.3, 0.4, "computing", "Rank 3 is still computing. 3 ranks wait for it."),
        (0.1, 0.0, "stuck", "Rank 3 is stuck. 3 ranks wait for it."),
        (None, None, "stuck", "Rank 3 is stuck. 3 ranks wait for it."),
    ],
)
def test_a_rank_that_uses_its_core_is_computing_and_may_go_on(
    cpu: float | None, starved: float | None, code: str, text: str
) -> None:
    late = replace(works(3), cpu_utilization=cpu, starved=starved)
    found = verdict([*(waits(r, 12) for r in range(3)), late], ALL, ALL, 4, {})
    assert found is not None
    assert (found.kind, found.code, found.text) == ("stuck", code, text)


def test_the_line_that_a_rank_is_in_is_said_in_the_place_of_a_guess() -> None:
    late = [waits(0, 12), waits(1, 12), works(2), works(3)]
    alone, lines = [*late[:2], waits(2, 12), late[3]], {2: "x = f.read()", 3: "    time.sleep(600)"}
    found = verdict(alone, ALL, ALL, 4, {}, lines=lines)
    assert found is not None
    assert (found.code, found.hint) == ("stuck", "Rank 3 is in this line: time.sleep(600)")
    found = verdict(late, ALL, ALL, 4, {}, lines=lines)
    assert found is not None
    assert found.hint == "Rank 2 is in this line: x = f.read()"
    found = verdict(late, ALL, ALL, 4, {}, lines=dict.fromkeys((2, 3), "g(" + "x" * 99 + ")"))
    assert found is not None
    assert found.hint == f"Ranks 2–3 are in this line: g({'x' * 77}…"
    alone[3] = replace(works(3), beat_s=0.3, step=9)
    found = verdict(alone, ALL, ALL, 4, {}, lines=lines)
    assert found is not None
    assert (found.text, found.hint[-15:]) == ("Rank 3 works on. 3 ranks wait for it.", "time.sleep(600)")
    found = verdict(alone, ALL, ALL, 4, {}, lines={3: ""})
    assert found is not None
    assert found.hint.startswith("Often"), "where it is not known"


def test_what_a_stack_tells_of_a_rank() -> None:
    def frames(file: str) -> list[Frame]:
        return [Frame("cell [3]", 4, "<module>", "", "[3]"), Frame(file, 9, "f")]

    assert activity(frames("/x/torch/_inductor/compile_fx.py")) == "compile"
    assert activity(frames("/x/torch/serialization.py")) == "checkpoint"
    assert activity(frames("/x/torch/utils/data/dataloader.py")) == "data"
    assert activity(frames("/home/me/train.py")) == ""


def test_suspects_are_asked_before_anybody_is_blamed() -> None:
    assert suspects([waits(0, 5), works(1)], 2) == ()
    assert suspects([waits(0, 7), works(1)], 2) == (1,)


def test_three_ranks_in_three_operations_are_each_named_with_their_own() -> None:
    broadcast = CollectiveCall(1, 7, "broadcast", "float32", 0, (1000,))
    barrier = CollectiveCall(1, 7, "barrier")
    samples = [called(0, REDUCE), called(1, broadcast), called(2, barrier)]
    places = {0: Where(cell="[4]", line=3), 1: Where(cell="[4]", line=5), 2: Where(cell="[4]", line=7)}
    found = verdict(samples, (0, 1, 2), (0, 1, 2), 3, places)
    assert found is not None
    assert found.text == "Rank 1 called broadcast and rank 2 called barrier where rank 0 called all_reduce."
    assert (found.ranks, found.peers) == ((1, 2), (0,))
    stand = {s.ranks[0]: (s.operation, s.blamed, s.where.line if s.where else None) for s in found.standings}
    assert stand == {1: ("broadcast", True, 5), 2: ("barrier", True, 7), 0: ("all_reduce", False, 3)}
    assert found.standings[0].bytes == 4000


def test_a_rank_that_has_left_the_mismatched_collective_is_not_said_to_be_in_it() -> None:
    """gloo lets the rank with fewer elements go on."""
    longer = CollectiveCall(1, 7, "all_reduce", "float32", 0, (4,))
    gone = replace(called(0, REDUCE), operation="", in_operation_s=None)
    found = verdict([gone, called(1, longer)], (1,), (0, 1), 2, {})
    assert found is not None
    assert found.kind == "mismatch"
    assert {s.ranks: (s.operation, s.left) for s in found.standings} == {
        (1,): ("all_reduce", False),
        (0,): ("all_reduce", True),
    }


def test_two_groups_of_peers_are_each_said_to_be_where_they_are() -> None:
    half = CollectiveCall(2, 3, "broadcast", "float32", 0, (8,))
    samples = [called(0, REDUCE), called(1, REDUCE), called(2, half), called(4, half), works(3)]
    five = (0, 1, 2, 3, 4)
    found = verdict(samples, five, five, 5, {3: Where(file="/home/me/data.py", line=9)})
    assert found is not None
    assert found.text == "Rank 3 is stuck. 4 ranks wait for it."
    assert [(s.ranks, s.blamed, s.operation) for s in found.standings] == [
        ((3,), True, None), ((0, 1), False, "all_reduce"), ((2, 4), False, "broadcast"),
    ]  # fmt: skip
    left = verdict(samples, (0, 1, 2, 4), five, 5, {})
    assert left is not None
    assert left.text == (
        "Ranks 0–1 wait in all_reduce and ranks 2, 4 wait in broadcast; rank 3 has finished the cell."
    )


def test_the_innermost_frame_of_the_users_own_is_where_a_rank_stands() -> None:
    cell = Frame("cell [7]", 3, "<module>", "", "[7]")
    function = Frame("cell [3]", 9, "step", "", "[3]")
    own = Frame("/home/me/lib/model.py", 40, "forward")
    torch = Frame("/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", 1, "_call_impl")
    hook = Frame("/src/dtrain_lab/rank/monitor/collectives.py", 10, "watched")
    assert users_frame([cell, function, torch, hook]) == function
    assert users_frame([cell, torch, own, torch]) == own
    assert users_frame([torch]) is None
