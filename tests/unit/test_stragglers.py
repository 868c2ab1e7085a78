"""A slow rank and why; training that waits for data. Without processes."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.core.cluster import HostUse
from dtrain_lab.core.stragglers import input_bound, slow
from dtrain_lab.core.wire.links import RankSample


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


def test_training_that_waits_for_data_is_told_from_slow_communication() -> None:
    fed = [replace(step(r, 0.1, 0.05), data_s=0.01) for r in (0, 1)]
    hungry = [replace(step(r, 0.1, 0.01), data_s=0.06) for r in (0, 1)]
    assert input_bound(fed) is None
    found = input_bound(hungry)
    assert found is not None
    assert (found.kind, found.text) == ("input_bound", "Training waits for data: 60 % of a step.")


def test_a_slow_rank_says_whether_always_and_why() -> None:
    others = [replace(step(r, 0.1, 0.05), data_s=0.001, typical_own_s=0.05) for r in (0, 2)]
    loader = replace(step(1, 0.1, 0.0), data_s=0.05, typical_own_s=0.1)
    found = slow([*others, loader], 0.05)
    assert found is not None
    assert found.hint == "50 ms a step longer than the others, in every step: its data loader."
    found = slow([*others, replace(loader, data_s=0.001, typical_own_s=0.051)], 0.05)
    assert found is not None
    assert "now and then" in found.hint


def hint_of(late: RankSample, hosts: dict[int, HostUse] | None = None) -> str:
    """Of rank 1, beside two that are alike."""
    others = [replace(step(r, 0.1, 0.05), cpu_utilization=1.0) for r in (0, 2)]
    found = slow([*others, late], 0.05, hosts)
    assert found is not None
    return found.hint


def test_a_gpu_that_is_slowed_down_is_named_as_the_cause() -> None:
    late = replace(step(1, 0.1, 0.0), throttled="heat")
    assert hint_of(late) == "50 ms a step longer than the others: its GPU is slowed down (heat)."


def test_processors_of_a_hot_node_are_named_where_not_all_nodes_are_hot() -> None:
    late = replace(step(1, 0.1, 0.0), cpu_utilization=1.0)
    hot, cool = HostUse(8, 0.5, throttled="heat"), HostUse(8, 0.5)
    one = hint_of(late, {0: cool, 1: hot, 2: cool})
    assert one == "50 ms a step longer than the others: the processors of its node are slowed down (heat)."
    assert "slowed" not in hint_of(late, {0: hot, 1: hot, 2: hot})


def test_other_processes_on_its_node_are_named_with_what_they_take() -> None:
    late = replace(step(1, 0.1, 0.0), cpu_utilization=0.4)
    crowded, free = HostUse(4, 0.95), HostUse(4, 0.3)
    one = hint_of(late, {0: free, 1: crowded, 2: free})
    assert one == (
        "50 ms a step longer than the others: it has less of a processor (40% against 100%); "
        "other processes keep 3.4 of the 4 cores of its node busy."
    )
    # on one node, what our own ranks use is no crowd
    assert "other processes" not in hint_of(late, dict.fromkeys(range(3), HostUse(3, 0.9)))
    assert "other processes" not in hint_of(late, {1: HostUse(4, 0.5)})
