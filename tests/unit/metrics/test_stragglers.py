"""A slow rank and why; training that waits for data. Without processes."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.metrics.verdicts.input_bound import input_bound
from dtrain_lab.metrics.verdicts.straggler import (
    can_judge,
    is_plain,
    saturated,
    slow,
    too_busy,
)
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.node_use import HostUse


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


def test_ranks_that_exchange_nothing_wait_for_nobody() -> None:
    """Workers of an asynchronous parameter server: each goes at its own pace."""
    assert slow([step(1, 0.1, 0.0), step(2, 0.02, 0.0)], 0.0) is None
    assert slow([step(1, 0.1, 0.0), step(2, 0.1, 0.08)], 0.0) is not None


def test_of_ranks_whose_communication_is_not_seen_nothing_is_said() -> None:
    """Those of TensorFlow and MindSpore, which have the steps that dt.step tells."""
    steps = [RankSample(rank=r, step=50, step_s=s) for r, s in enumerate((0.02, 0.1))]
    assert slow(steps, 0.0) is None
    assert input_bound(steps) is None
    assert not can_judge(steps)
    assert can_judge([step(0, 0.1, 0.0), step(1, 0.1, 0.08)])


def test_training_that_waits_for_data_is_told_from_slow_communication() -> None:
    fed = [replace(step(r, 0.1, 0.05), data_s=0.01) for r in (0, 1)]
    hungry = [replace(step(r, 0.1, 0.01), data_s=0.06) for r in (0, 1)]
    assert input_bound(fed) is None
    found = input_bound(hungry)
    assert found is not None
    assert (found.kind, found.text) == ("input_bound", "Training waits for data: 60 % of a step.")
    unsure = input_bound(hungry, 0.55, 0.25)
    assert unsure is not None
    assert unsure.text == "Training waits for data: 55 % ± 25 of a step."
    assert unsure.values["error"] == 0.25
    measured = input_bound(hungry, 0.88)
    assert measured is not None
    assert measured.text == "Training waits for data: 88 % of a step.", "as all views, after a diagnosis"
    assert measured.hint.startswith("The loader takes 88 ms a step")


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
    late = replace(step(1, 0.1, 0.0), cpu_utilization=0.4, starved=0.55)
    crowded, free = HostUse(4, 0.95), HostUse(4, 0.3)
    one = hint_of(late, {0: free, 1: crowded, 2: free})
    assert one == (
        "50 ms a step longer than the others: it waits for a free core for 55 % of the time; "
        "other processes keep 3.4 of the 4 cores of its node busy."
    )
    # on one node, what our own ranks use is no crowd
    assert "other processes" not in hint_of(late, dict.fromkeys(range(3), HostUse(3, 0.9)))
    assert "other processes" not in hint_of(late, {1: HostUse(4, 0.5)})


def test_a_rank_that_sleeps_is_not_said_to_lack_a_processor() -> None:
    """As with `time.sleep(0.04)` on rank 1: it uses less of a processor because its own code waits."""
    crowded = dict.fromkeys(range(2), HostUse(2, 0.98))
    waiting = replace(step(0, 0.05, 0.04), cpu_utilization=0.08, starved=0.02)
    for cpu in (0.04, 0.08, 0.2):
        asleep = replace(step(1, 0.05, 0.0), cpu_utilization=cpu, starved=0.03, typical_own_s=0.05)
        found = slow([waiting, asleep], 0.05, crowded)
        assert found is not None
        assert found.hint == (
            "40 ms a step longer than rank 0, in every step: "
            "its own code sleeps, or waits for a file or a network."
        )
    works = replace(step(1, 0.05, 0.0), cpu_utilization=1.0, starved=0.0)
    on_gpu = replace(works, cpu_utilization=0.1, device_memory_total_bytes=8 << 30)
    for late in (works, on_gpu, replace(works, cpu_utilization=0.1, starved=None)):
        found = slow([waiting, late], 0.05, crowded)
        assert found is not None
        assert found.hint == "40 ms a step longer than rank 0."


def test_a_rank_with_a_slow_loader_that_also_sleeps_has_both_named_with_the_loaders_part() -> None:
    """The newcomer read that 193 ms were the loader's, which takes 113: 80 ms were `time.sleep`."""
    waiting = replace(step(0, 0.2, 0.193), data_s=0.0005, cpu_utilization=0.05, starved=0.0)

    def cause(data_s: float, cpu: float = 0.03) -> tuple[str, str]:
        late = replace(step(1, 0.2, 0.0), data_s=data_s, cpu_utilization=cpu, starved=0.0)
        found = slow([waiting, late], 0.05)
        assert found is not None
        return found.values["cause"], found.hint.removeprefix("193 ms a step longer than rank 0: ")

    both = "its data loader takes 113 ms of that, and its own code sleeps, or waits for a file or a network."
    assert cause(0.1135) == (": data, asleep", both)
    sleeps = "its own code sleeps, or waits for a file or a network"
    assert cause(0.0605) == (": asleep, data", f"{sleeps}, and its data loader takes 60 ms of that.")
    assert cause(0.0105) == (": asleep", f"{sleeps}."), "its loader matters little"
    assert cause(0.1135, cpu=0.5) == (": data", "its data loader takes 113 ms of that."), "it computes, too"
    assert cause(0.0455, cpu=0.55) == (": ", "193 ms a step longer than rank 0."), "most is neither"
    assert cause(0.185) == (": data", "its data loader.")


def test_a_rank_that_sleeps_as_long_as_the_others_is_slow_for_its_loader_only() -> None:
    others = replace(step(0, 0.2, 0.1), cpu_utilization=0.03, starved=0.0)
    late = replace(step(1, 0.2, 0.0), data_s=0.1, cpu_utilization=0.03, starved=0.0)
    found = slow([others, late], 0.05)
    assert found is not None
    assert found.hint == "100 ms a step longer than rank 0: its data loader."


def test_a_machine_with_more_threads_to_run_than_cores_is_too_busy_to_tell() -> None:
    full = HostUse(2, 1.0, runnable=7.2)
    assert saturated({"box": full}) == "box"
    assert too_busy("box", full, alone=True).text == (
        "This machine is too busy to tell which rank is slow: 7 threads compete for its 2 cores."
    )
    assert too_busy("gpu-02", full, alone=False).text.startswith("gpu-02 is too busy")
    assert saturated({"a": HostUse(8, 1.0, runnable=10.5), "b": HostUse(8, 1.0, runnable=30.0)}) == "b"
    # one rank a core, and a little beside them, is what training looks like
    assert saturated({"box": HostUse(2, 1.0, runnable=2.3)}) is None
    assert saturated({"box": HostUse(2, 0.4, runnable=3.0)}) is None, "they wait for something else"
    assert saturated({"box": HostUse(2, 1.0)}) is None


def test_what_is_plain_is_told_also_on_a_busy_machine() -> None:
    twice = slow([step(0, 0.1, 0.05), step(1, 0.1, 0.0), step(2, 0.1, 0.05)], 0.05)
    half_more = slow([step(0, 0.1, 0.05), step(1, 0.1, 0.02), step(2, 0.1, 0.05)], 0.05)
    hungry = input_bound([replace(step(0, 0.1, 0.01), data_s=0.06)])
    less = input_bound([replace(step(0, 0.1, 0.01), data_s=0.03)])
    assert [v is not None and is_plain(v) for v in (twice, half_more, hungry, less)] == [
        True,
        False,
        True,
        False,
    ]
