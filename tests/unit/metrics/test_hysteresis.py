"""The headline on a noisy machine: it does not flip, and one episode is one. Without processes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from msgspec.structs import replace

from dtrain_lab.metrics.advice.hysteresis import AdviceHysteresis
from dtrain_lab.metrics.verdicts.hysteresis import VerdictHysteresis
from dtrain_lab.wire.metrics.verdicts import Advice, Verdict

TICK_S = 0.25


def slow(rank: int) -> Verdict:
    return Verdict(f"slow-{rank}", "slow", "slow", {}, f"Rank {rank} is slow.", ranks=(rank,))


BUSY = Verdict("too_busy", "unknown", "too_busy", {}, "This machine is too busy.")
HUNGRY = Verdict("input_bound", "input_bound", "input_bound", {}, "Training waits for data.")


def stands(code: str, kind: str, sequence: int = 7, since_s: float = 11.0) -> Verdict:
    return Verdict(
        f"{code}-{sequence}", kind, code, {}, code,  # type: ignore[arg-type]
        ranks=(1,), operation="all_reduce", sequence=sequence, since_s=since_s,
    )  # fmt: skip


def shown(looks: Iterable[Verdict | None]) -> list[str]:
    """Id of what is shown after each look, four times a second."""
    steady = VerdictHysteresis()
    ids = []
    for tick, found in enumerate(looks):
        verdict = steady.update(found, 100 + tick * TICK_S)
        ids.append(verdict.id if verdict is not None else "")
    return ids


def changes(ids: list[str]) -> int:
    return sum(a != b for a, b in pairwise(ids))


def seconds(number: float, found: Callable[[], Verdict | None]) -> list[Verdict | None]:
    return [found() for _ in range(int(number / TICK_S))]


@pytest.mark.parametrize("seed", range(20))
def test_ranks_that_take_turns_in_being_slow_are_no_headline(seed: int) -> None:
    """As recorded on a busy machine: seven headlines in fifteen seconds, none of them true."""
    luck = random.Random(seed)
    ids = shown(seconds(60, lambda: luck.choice([None, slow(0), slow(1), HUNGRY])))
    assert changes(ids) <= 2


def test_what_was_recorded_as_seven_flips_in_fifteen_seconds_is_none() -> None:
    runs = [
        (2, None), (2, slow(1)), (2, None), (1.5, slow(0)), (2, None), (2.5, slow(1)), (1, None), (2, HUNGRY),
    ]  # fmt: skip
    ids = shown([found for lasted, found in runs for found in [found] * int(lasted / TICK_S)])
    assert set(ids) == {""}


@pytest.mark.parametrize("seed", range(20))
def test_a_rank_that_is_slow_in_most_looks_is_told_once_and_stays(seed: int) -> None:
    luck = random.Random(seed)
    ids = shown([
        *seconds(10, lambda: None),
        *seconds(60, lambda: slow(1) if luck.random() < 0.92 else None),
        *seconds(20, lambda: None),
    ])  # fmt: skip
    assert set(ids) == {"", "slow-1-1"}
    assert changes(ids) == 2
    assert ids[-1] == ""


def test_an_episode_keeps_its_cause_until_another_one_lasts() -> None:
    def because(cause: str) -> Verdict:
        return replace(slow(1), values={"cause": cause}, hint=cause)

    luck, steady = random.Random(5), VerdictHysteresis()
    looks = [
        *seconds(20, lambda: because("asleep" if luck.random() < 0.6 else luck.choice(["", "starved"]))),
        *seconds(20, lambda: because("data" if luck.random() < 0.95 else "asleep")),
    ]
    told = [steady.update(found, tick * TICK_S) for tick, found in enumerate(looks)]
    causes = [verdict.hint for verdict in told if verdict is not None]
    assert changes(causes) == 1
    assert causes[-1] == "data"


def test_the_next_time_is_another_episode() -> None:
    ids = shown([*seconds(12, lambda: slow(1)), *seconds(15, lambda: None), *seconds(12, lambda: slow(1))])
    assert [i for i in dict.fromkeys(ids) if i] == ["slow-1-1", "slow-1-2"]


def test_another_rank_that_stays_slow_takes_its_place_without_a_gap() -> None:
    ids = shown([*seconds(12, lambda: slow(1)), *seconds(12, lambda: slow(0))])
    assert ids[-1] == "slow-0-2"
    first = ids.index("slow-1-1")
    assert "" not in ids[first:]


def test_a_machine_that_is_too_busy_is_told_also_where_figures_come_and_go() -> None:
    luck = random.Random(3)
    ids = shown(seconds(60, lambda: BUSY if luck.random() < 0.5 else None))
    assert changes(ids) == 1
    assert ids[-1] == "too_busy-1"


def test_bursts_of_a_slow_rank_on_a_machine_that_is_too_busy_are_no_headline() -> None:
    """As recorded on two cores that 20 threads wanted: ten headlines in two minutes."""
    bursts = [(12, 59), (5, 8), (5, 12), (4, 4), (7, 20)]
    looks = seconds(20, lambda: BUSY)
    for slow_s, busy_s in bursts:
        looks += [*seconds(slow_s, lambda: slow(1)), *seconds(busy_s, lambda: BUSY)]
    assert [i for i in dict.fromkeys(shown(looks)) if i.startswith("slow")] in ([], ["slow-1-2"])
    assert changes(shown(looks)) <= 3


def test_a_rank_that_stays_slow_on_a_machine_that_is_too_busy_is_one_episode() -> None:
    burst = [*seconds(20, lambda: slow(1)), *seconds(15, lambda: BUSY)]
    ids = shown([*seconds(10, lambda: BUSY), *burst, *burst, *burst])
    assert len({i for i in ids if i.startswith("slow")}) == 1


def test_ranks_that_wait_in_a_collective_are_told_at_once_and_no_longer_than_they_wait() -> None:
    ids = shown([None, stands("stuck", "stuck"), stands("stuck", "stuck"), None, None])
    assert ids == ["", "stuck-7-1", "stuck-7-1", "", ""]


def test_one_hang_is_one_episode_whatever_is_learned_of_it() -> None:
    apart = stands("mismatch", "mismatch", sequence=8)
    later = [stands("no_progress", "unknown"), stands("stuck", "stuck"), apart]
    assert len(set(shown(later))) == 1


def test_a_rank_that_has_just_worked_on_is_not_called_stuck_at_once() -> None:
    """It logs something every five seconds, and the others wait for a minute."""
    works, stuck = stands("behind", "slow"), stands("stuck", "stuck")
    steady = VerdictHysteresis()
    looks = [found for _ in range(6) for found in (*seconds(4, lambda: works), *seconds(5, lambda: stuck))]
    told = [steady.update(found, tick * TICK_S) for tick, found in enumerate(looks)]
    assert {verdict.code for verdict in told if verdict is not None} == {"behind"}
    for tick in range(60):
        last = steady.update(stuck, 1000 + tick * TICK_S)
    assert last is not None
    assert last.code == "stuck"


def test_what_a_cell_did_says_nothing_of_the_next() -> None:
    steady = VerdictHysteresis()
    for tick in range(40):
        steady.update(slow(1), tick * TICK_S)
    steady.forget()
    assert steady.update(None, 11.0) is None


def accumulate(gain: float, variant: int = 2) -> tuple[Advice, ...]:
    return (Advice("accumulate", "Accumulate", gain, 0.02, "", "", {"variant": variant}),)


def test_advice_that_comes_and_goes_is_not_shown() -> None:
    steady = AdviceHysteresis()
    looks = [*seconds(1, lambda: accumulate(1.5)), *seconds(1, lambda: ())] * 10
    assert not any(steady.update(found, tick * TICK_S) for tick, found in enumerate(looks))


def test_advice_stays_over_a_moment_without_it_and_its_figures_stand_still() -> None:
    steady = AdviceHysteresis()
    looks = [
        *seconds(6, lambda: accumulate(random.uniform(1.4, 1.6))),
        *seconds(3, lambda: ()),
        *seconds(6, lambda: accumulate(random.uniform(1.4, 1.6))),
    ]
    told = [steady.update(found, tick * TICK_S) for tick, found in enumerate(looks)]
    began = next(tick for tick, found in enumerate(told) if found)
    assert began * TICK_S >= 4
    assert all(told[began:])
    changes = sum(a != b for a, b in pairwise(told[began:]))
    assert changes <= 3, "as if its figures were news every quarter of a second"
    assert not any(steady.update((), 100 + tick * TICK_S) for tick in range(4))


def bf16(gain: float) -> tuple[Advice, ...]:
    return (Advice("bf16", "Compress", gain, 0.02, "", ""),)


def told(looks: Iterable[tuple[Advice, ...]]) -> list[tuple[str, ...]]:
    """Ids of what is shown after each look."""
    steady = AdviceHysteresis()
    return [tuple(a.id for a in steady.update(found, tick * TICK_S)) for tick, found in enumerate(looks)]


@pytest.mark.parametrize("seed", range(10))
def test_two_changes_that_gain_the_same_do_not_change_places(seed: int) -> None:
    luck = random.Random(seed)

    def found() -> tuple[Advice, ...]:
        both = [*accumulate(luck.uniform(1.38, 1.42)), *bf16(luck.uniform(1.38, 1.42))]
        return tuple(sorted(both, key=lambda a: -a.gain))

    ids = told(found() for _ in range(400))
    assert changes([first[0] if first else "" for first in ids]) == 1, "the card stands"
    assert set(ids[-1]) == {"accumulate", "bf16"}


def test_what_has_become_better_takes_the_first_place() -> None:
    before, after = (*accumulate(1.5), *bf16(1.2)), (*bf16(1.6), *accumulate(1.5))
    ids = told([*[before] * 40, *[after] * 40])
    assert ids[30] == ("accumulate", "bf16")
    assert ids[-1] == ("bf16", "accumulate")


def test_a_second_change_that_comes_and_goes_leaves_the_first_alone() -> None:
    luck = random.Random(2)
    ids = told((*accumulate(1.5), *(bf16(1.2) if luck.random() < 0.5 else ())) for _ in range(400))
    assert changes([first[0] if first else "" for first in ids]) == 1
    assert changes(list(map(str, ids))) <= 3


def test_four_batches_do_not_become_two_and_four_again() -> None:
    luck, steady = random.Random(4), AdviceHysteresis()
    variants = []
    for tick in range(400):
        variant = 4 if tick < 200 and luck.random() < 0.7 else 2
        shown = steady.update(accumulate(1.5, variant), tick * TICK_S)
        variants += [a.values["variant"] for a in shown]
    assert variants[0] in (2, 4)
    assert sum(a != b for a, b in pairwise(variants)) <= 1
    assert variants[-1] == 2
