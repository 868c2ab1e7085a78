from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from dtrain_lab.metrics import cold_caches, communication, estimates, probes, ring
from dtrain_lab.metrics.steps import StepCycle
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.collective import CollectiveCall

MS = 1_000_000


def record(ended_ms: float, wall_ms: float, exposed_ms: float = 0, **more: float) -> ring.StepRecord:
    return ring.StepRecord(
        ended=int(ended_ms * MS),
        wall=int(wall_ms * MS),
        data=int(more.get("data_ms", 0) * MS),
        exposed=int(exposed_ms * MS),
        tail=int(more.get("tail_ms", 0) * MS),
        samples=int(more.get("samples", 0)),
        calls=0,
        flags=ring.SYNCED if more.get("tail_ms") else 0,
    )


def test_what_a_step_spends_on_none_of_its_parts_is_beside_them() -> None:
    of = replace(record(30, 30, 4, data_ms=5), forward=6 * MS, backward=7 * MS, optimizer=2 * MS)
    assert of.beside == 10 * MS, "collectives that the loop calls are its own"
    assert replace(of, probe=3 * MS).beside == 7 * MS, "an averaging that we delay is not"
    assert replace(of, backward=70 * MS).beside == 0


def test_what_a_rank_writes_the_agent_reads_also_after_the_ring_is_full() -> None:
    memory = memoryview(bytearray(ring.BYTES))
    writer, reader = ring.Writer(memory), ring.Reader(memory)
    for index in range(ring.RECORDS + 50):
        writer.append(record(index, 1, samples=index))
    assert reader.header(ring.STEPS) == ring.RECORDS + 50
    assert [r.samples for r in reader.last(3)] == [ring.RECORDS + 47, ring.RECORDS + 48, ring.RECORDS + 49]
    writer.add_tail(5)
    assert reader.last(1)[0].tail == 5


def test_a_reader_that_comes_often_sees_what_one_sees_that_comes_once() -> None:
    memory = memoryview(bytearray(ring.BYTES))
    writer, often = ring.Writer(memory), ring.Reader(memory)
    chance = random.Random(4)
    index = 0
    for turn in range(60):
        for _ in range(chance.choice((0, 1, 2, 40, ring.RECORDS + 3))):
            writer.append(record(index, 1, samples=index))
            index += 1
        if turn % 2:
            writer.add_tail(turn)
        most = chance.choice((1, 5, 600))
        assert often.last(most) == ring.Reader(memory).last(most)
        writer.add_tail(turn + 1)  # a forward pass later


def test_one_optimizer_ends_a_step_each_time() -> None:
    cycle = StepCycle()
    assert [cycle.ends(1) for _ in range(4)] == [True] * 4
    assert not cycle.unsure


def test_two_optimizers_in_turn_are_one_step_once_the_cycle_is_known() -> None:
    cycle = StepCycle()
    ends = [cycle.ends(o) for o in (1, 2, 1, 2, 1, 2, 1, 2)]
    assert ends[-4:] == [False, True, False, True]
    assert not cycle.unsure


def test_five_to_one_is_found_after_two_cycles_and_unsure_before() -> None:
    cycle = StepCycle()
    ends = [cycle.ends(o) for o in [1, 1, 1, 1, 1, 2] * 2]
    assert ends[-1]
    assert sum(cycle.ends(o) for o in [1, 1, 1, 1, 1, 2] * 3) == 3
    fresh = StepCycle()
    for optimizer in (1, 1, 2):
        fresh.ends(optimizer)
    assert fresh.unsure


def test_figures_of_a_rank() -> None:
    records = [record(i * 10, 10, 2, samples=32, data_ms=1, tail_ms=1) for i in range(1, 101)]
    found = estimates.rank_metrics(records, now=1000 * MS)
    assert found.steps_per_s == pytest.approx(100)
    assert found.samples_per_s == pytest.approx(3200)
    assert found.step_s == pytest.approx(0.010)
    assert found.data_s == pytest.approx(0.001)
    assert found.exposed_s == pytest.approx(0.003)


def test_a_pause_before_a_step_is_not_part_of_the_rate() -> None:
    records = [record(10, 10), record(5000, 4990), *(record(5000 + 10 * i, 10) for i in range(1, 10))]
    assert estimates.rank_metrics(records, now=5100 * MS).step_s == pytest.approx(0.010)


def test_the_last_steps_of_a_loop_are_not_left_alone_after_its_end() -> None:
    """In these, ranks wait for each other, as for one that saves a checkpoint."""
    steps = [record(i * 10, 10, 1) for i in range(1, 399)]
    waits = [record(4000, 20, 15), record(4020, 20, 15)]
    at_end, later = (estimates.rank_metrics([*steps, *waits], now=at * MS) for at in (4020, 13_900))
    assert at_end == later
    assert at_end.step_s is not None
    assert at_end.exposed_s is not None
    assert at_end.exposed_s / at_end.step_s < 0.15


def averaged(at: int, wall_ms: float, exposed_ms: float, **more: int) -> ring.StepRecord:
    return replace(record(at * wall_ms, wall_ms, exposed_ms), flags=ring.SYNCED, **more)


def test_probes_find_what_overlaps_and_the_hooks_do_not_see() -> None:
    """A step of 10 ms: 7 of its own, 3 of communication, of which the hooks see 1."""
    records = [averaged(i, 10, 1, backward=6 * MS) for i in range(1, 60)]
    for at in (12, 24, 36):
        # 7 of its own, of which 4 are backward, 1 in hooks, 4 of averaging that nothing hides
        records[at] = replace(
            records[at], wall=12 * MS, probe=4 * MS, backward=4 * MS, flags=ring.SYNCED | ring.PROBED
        )
    longer, error = probes.longer_backward(probes.probes(records), [])
    assert longer == pytest.approx(0.002)
    assert error == 0.0
    found = estimates.rank_metrics(records, now=620 * MS)
    assert found.exposed_s is not None
    assert found.step_s is not None
    assert found.exposed_s / found.step_s == pytest.approx(0.3)
    assert probes.longer_backward(probes.probes(records[:20]), [])[1] is None, "one probe has no spread"
    assert probes.longer_backward(probes.probes(records[:10]), []) == (None, None)


@pytest.mark.parametrize(
    ("forward", "backward", "communication_s"),
    [
        (20, 120, 0.080),  # the network got slower
        (20, 45, 0.005),  # … or faster
        (30, 80, 0.020),  # the processor got slower, by half
        (20, 63, 0.020),  # neither, as far as anybody can tell
    ],
)
def test_what_changes_after_the_last_probe_is_put_where_it_belongs(
    forward: int, backward: int, communication_s: float
) -> None:
    """Steps of 20 forward, 40 backward alone, 60 with communication; then other ones, and no probe yet."""
    at, records = 0, []
    for index in range(200):
        probed, changed = index in (20, 40, 60), index >= 100
        parts = (forward, backward) if changed else (20, 40 if probed else 60)
        at += sum(parts) + 20
        flags = ring.SYNCED | (ring.PROBED if probed else 0)
        made = replace(
            record(at, sum(parts) + 20), forward=parts[0] * MS, backward=parts[1] * MS, flags=flags
        )
        records.append(made)
    found = estimates.rank_metrics(records, now=at * MS)
    assert found.exposed_s == pytest.approx(communication_s, abs=0.0005)
    assert found.step_s is not None
    assert found.compute_s == pytest.approx(found.step_s - found.exposed_s - 0.020, abs=0.004)


def test_a_noisy_forward_pass_does_not_spoil_what_probes_find() -> None:
    records = [averaged(i, 10, 1, backward=6 * MS, tail=1 * MS) for i in range(1, 60)]
    for at, late in ((12, 0), (24, 9), (36, 30)):
        records[at] = replace(
            records[at],
            wall=(12 + late) * MS,
            forward=late * MS,
            probe=4 * MS,
            backward=3 * MS,
            tail=0,
            flags=ring.SYNCED | ring.PROBED,
        )
    assert probes.longer_backward(probes.probes(records), [])[0] == pytest.approx(0.003), (
        "6, of which 3 are its own"
    )


def test_steps_that_are_not_averaged_take_their_part_of_the_share() -> None:
    """Three of four steps accumulate: their 8 ms have no communication, the fourth has 2 ms of 10."""
    records = []
    for i in range(1, 81):
        if i % 4:
            records.append(replace(record(i * 10, 8), backward=4 * MS))
        else:
            records.append(averaged(i, 10, 0, backward=6 * MS, tail=2 * MS))
    found = estimates.rank_metrics(records, now=810 * MS)
    assert found.exposed_s is not None
    assert found.step_s is not None
    assert found.exposed_s / found.step_s == pytest.approx(2 / 34, rel=0.02)


def test_steps_that_are_late_because_of_each_other_are_communication() -> None:
    """Own time is 8 ms; now and then a part of it takes 2 ms longer, or backward waits for the peer's."""
    records = []
    for i in range(1, 91):
        forward, backward = ((4, 4), (6, 4), (4, 6))[i % 3]
        wall = forward + backward
        made = averaged(i, wall, 0, forward=forward * MS, backward=backward * MS)
        if i in (12, 24, 36, 48):
            made = replace(made, backward=4 * MS, probe=MS, flags=ring.SYNCED | ring.PROBED)
        records.append(made)
    found = estimates.rank_metrics(records, now=records[-1].ended)
    assert found.exposed_s is not None
    assert found.step_s is not None
    assert found.exposed_s / found.step_s == pytest.approx(0.2, rel=0.05), "10 ms are usual, 8 alone"
    uneven = [replace(r, wall=r.wall + i % 5 * MS, data=i % 5 * MS) for i, r in enumerate(records)]
    found = estimates.rank_metrics(uneven, now=uneven[-1].ended)
    assert found.exposed_s is not None
    assert found.exposed_s == pytest.approx(0.002, rel=0.1), "a loader's unevenness is none of it"


def test_uneven_tails_do_not_count_twice() -> None:
    """Backward takes 6 ms, 4 of them its own; the hooks see any part of the other two."""
    records = [averaged(i, 10, 0, backward=6 * MS, tail=(i % 3) * MS) for i in range(1, 80)]
    for at in (12, 24, 36, 48):
        records[at] = replace(
            records[at], backward=4 * MS, probe=3 * MS, tail=0, flags=ring.SYNCED | ring.PROBED
        )
    found = estimates.rank_metrics(records, now=800 * MS)
    assert found.exposed_s is not None
    assert found.step_s is not None
    assert found.exposed_s / found.step_s == pytest.approx(0.2)


def test_a_probe_whose_backward_was_not_seen_tells_nothing() -> None:
    records = [averaged(i, 10, 1) for i in range(1, 60)]
    records[20] = replace(records[20], probe=4 * MS, flags=ring.SYNCED | ring.PROBED)
    assert probes.longer_backward(probes.probes(records), []) == (None, None)


def test_a_step_is_taken_apart() -> None:
    records = [
        replace(
            averaged(i, 20, 2), forward=4 * MS, backward=8 * MS, optimizer=3 * MS, data=1 * MS, tail=1 * MS
        )
        for i in range(1, 30)
    ]
    found = estimates.rank_metrics(records, now=600 * MS)
    assert found.exposed_s == pytest.approx(0.003)
    assert found.compute_s == pytest.approx(0.011), "the tail stands in backward"
    assert (found.optimizer_s, found.data_s) == (pytest.approx(0.003), pytest.approx(0.001))


def test_signatures_of_the_last_collectives_are_kept() -> None:
    memory = memoryview(bytearray(ring.BYTES))
    writer, reader = ring.Writer(memory), ring.Reader(memory)
    for number in range(1, ring.CALLS_KEPT + 5):
        writer.note_call(9, number, ring.OPERATION_INDEX["broadcast"], ring.DTYPES.index("int64"), 2, (3, 4))
    calls = reader.calls()
    assert len(calls) == ring.CALLS_KEPT - 1
    assert calls[-1] == CollectiveCall(9, ring.CALLS_KEPT + 4, "broadcast", "int64", 2, (3, 4))


def test_a_cycle_that_is_found_late_corrects_the_count() -> None:
    cycle = StepCycle()
    for optimizer in [1, 1, 1, 1, 1, 2] * 4:
        cycle.ends(optimizer)
    assert cycle.count == 4


def test_an_optimizer_that_joins_in_later_takes_no_steps_back() -> None:
    cycle = StepCycle()
    counts = []
    for optimizer in [1] * 1000 + [1, 2] * 4:
        cycle.ends(optimizer)
        counts.append(cycle.count)
    assert counts == sorted(counts)
    assert counts[-1] in (1003, 1004)


def test_another_optimizer_alone_is_a_new_phase() -> None:
    cycle = StepCycle()
    for optimizer in [1] * 50 + [2] * 50:
        cycle.ends(optimizer)
    assert cycle.count == 100
    assert not cycle.unsure


def test_old_or_too_few_steps_give_no_rate() -> None:
    assert estimates.rank_metrics([], now=0).steps_per_s is None
    assert estimates.rank_metrics([record(10, 10)], now=20 * MS).steps_per_s is None
    old = [record(i * 10, 10) for i in range(10)]
    assert estimates.rank_metrics(old, now=60_000 * MS).steps_per_s is None


@pytest.mark.parametrize("first_ms", [20, 3000, 60_000])
@pytest.mark.parametrize("later", [1, 2, 9])
def test_the_first_step_of_a_cell_is_in_no_rate(first_ms: float, later: int) -> None:
    """It lacks what the loop does after a step, here 480 of 500 ms, or it compiles."""
    earlier = [record(i * 10, 10, samples=8) for i in range(1, 4)]
    began = 1000 + first_ms
    cell = [
        record(began, first_ms, samples=8),
        *(record(began + 500 * i, 500, samples=8) for i in range(1, later + 1)),
    ]
    now = cell[-1].ended
    found = estimates.rank_metrics([*earlier, *cell], now, in_cell=len(cell))
    assert found.samples_per_s == pytest.approx(16)
    assert found.step_s == pytest.approx(0.5)
    alone = estimates.rank_metrics([*earlier, cell[0]], cell[0].ended, in_cell=1)
    assert alone.samples_per_s is None


def test_the_oldest_step_that_is_read_counts_where_it_is_not_the_cells_first() -> None:
    steps = [record(i * 100, 100) for i in range(1, 4)]
    found = estimates.rank_metrics([replace(steps[0], wall=400 * MS), *steps[1:]], 300 * MS, in_cell=900)
    assert found.step_s == pytest.approx(0.2)


def sample(rank: int, step_ms: float, exposed_ms: float, rate: float | None = None) -> RankSample:
    return RankSample(rank=rank, step_s=step_ms / 1e3, exposed_s=exposed_ms / 1e3, samples_per_s=rate)


def test_the_slowest_rank_waits_least_and_the_others_wait_for_it() -> None:
    samples = [sample(0, 100, 40), sample(1, 100, 10), sample(2, 100, 40)]
    parts = communication.split(samples, 3, crowded=False)
    assert parts[1].wait_s == 0
    assert parts[0].wait_s == pytest.approx(0.030)
    assert parts[0].transfer_s == parts[1].transfer_s == pytest.approx(0.010)
    world = estimates.world_metrics(samples, 3, crowded=False)
    assert world.slowest_rank == 1
    assert world.skew_s == pytest.approx(0.030)
    assert world.comm_overhead == pytest.approx(0.30)


def crowded(on_processor: float = 1.0, error_s: float | None = 0.0001) -> communication.Split:
    """10 ms of communication, 5 of them waited by this rank; 1 of data, 9 of computation."""
    mine = RankSample(
        rank=0, step_s=0.02, data_s=0.001, compute_s=0.007, optimizer_s=0.001, exposed_s=0.01,
        exposed_error_s=error_s, on_processor=on_processor,
    )  # fmt: skip
    return communication.split([mine, replace(mine, rank=1, exposed_s=0.005)], 2, crowded=True)[0]


def test_where_ranks_share_a_processor_waiting_makes_the_rest_slower() -> None:
    longer = 0.05 * 10 / 9 / (1 + 0.05 * 10 / 9 / 0.7)
    assert crowded().undisturbed == pytest.approx(1 / (1 + longer))
    cost = 0.009 * (1 - 1 / (1 + longer))
    assert crowded().comm_overhead == pytest.approx((0.01 + cost) / 0.02)
    assert crowded().transfer_s + crowded().wait_s == pytest.approx(0.01 + cost)
    assert cold_caches.undisturbed_share(1e6, 0.001, 1.0) == pytest.approx(1 / 1.7, rel=1e-4), (
        "no more than that"
    )


def test_what_another_device_computes_or_nothing_measured_stays_as_it_is() -> None:
    assert crowded(on_processor=0.0).comm_overhead == pytest.approx(0.5)
    assert crowded(error_s=None).comm_overhead == pytest.approx(0.5)
    assert cold_caches.undisturbed_share(0.0, 0.01, 1.0) == 1.0


def test_a_steps_parts_add_up_also_where_waiting_made_them_slower() -> None:
    sample = RankSample(
        rank=0, step_s=0.02, data_s=0.001, compute_s=0.007, optimizer_s=0.001, exposed_s=0.01,
        exposed_error_s=0.0001, on_processor=1.0, synced=True,
    )  # fmt: skip
    metrics = estimates.world_metrics([sample, replace(sample, rank=1)], 2, crowded=True)
    assert metrics.transfer_s is not None
    assert metrics.compute_s is not None
    assert metrics.optimizer_s is not None
    taken = metrics.transfer_s + metrics.compute_s + metrics.optimizer_s + 0.001
    undisturbed = communication.split([sample], 2, crowded=True)[0].undisturbed
    assert 0.02 - taken == pytest.approx(0.001 * undisturbed), "what is left is other"


def test_one_rank_has_no_communication_and_no_doubt_about_it() -> None:
    world = estimates.world_metrics([sample(0, 10, 3, 64.0)], 1, crowded=True)
    assert (world.comm_overhead, world.comm_overhead_error, world.samples_per_s) == (0.0, 0.0, 64.0)


def test_one_known_rank_of_two_still_communicates() -> None:
    world = estimates.world_metrics([sample(0, 10, 3)], 2, crowded=False)
    assert (world.comm_overhead, world.comm_overhead_error) == (pytest.approx(0.3), 0.06)
    averaged = estimates.world_metrics([replace(sample(0, 10, 3), synced=True)], 2, crowded=True)
    assert averaged.comm_overhead_error == 0.17
    probed = replace(sample(0, 10, 3), synced=True, exposed_error_s=0.0001)
    assert estimates.world_metrics([probed], 2, crowded=False).comm_overhead_error == pytest.approx(0.02)
    assert estimates.world_metrics([probed], 2, crowded=True).comm_overhead_error == 0.1
    # nobody knows in which part of a step a rank waited for a core
    starved = replace(probed, starved=0.3)
    assert estimates.world_metrics([starved], 2, crowded=True).comm_overhead_error == pytest.approx(
        0.316, abs=1e-3
    )
    worse = replace(probed, starved=0.9)
    assert estimates.world_metrics([worse], 2, crowded=True).comm_overhead_error == pytest.approx(0.7), (
        "a share of 30 % is not below 0"
    )


def test_the_world_adds_the_rates_of_its_ranks_and_says_nothing_without_steps() -> None:
    both = [sample(0, 10, 1, 10.0), sample(1, 10, 1, 20.0)]
    assert estimates.world_metrics(both, 2, crowded=False).samples_per_s == 30
    assert estimates.world_metrics([RankSample(rank=0)], 2, crowded=False).step_s is None


def test_parts_of_a_step_are_the_communication_that_is_named_also_beside_a_slow_rank() -> None:
    """As measured: rank 2 sleeps in each step, and two ranks of three wait for it."""
    taken = ((0.0071, 0.177), (0.012, 0.173), (0.170, 0.015))
    samples = [
        RankSample(
            rank=i, step_s=0.185, data_s=0.0005, compute_s=own - 0.001, optimizer_s=0.0002, exposed_s=x
        )
        for i, (own, x) in enumerate(taken)
    ]
    world = estimates.world_metrics(samples, 3, crowded=False)
    assert world.step_s is not None
    assert world.comm_overhead == pytest.approx(0.658, abs=0.001)
    assert world.transfer_s is not None
    assert world.wait_s is not None
    assert world.transfer_s + world.wait_s == pytest.approx(world.comm_overhead * world.step_s)
    assert world.compute_s == pytest.approx(0.062, abs=0.001), "the slow rank's own time is in it"
    parts = (world.data_s, world.compute_s, world.optimizer_s, world.transfer_s, world.wait_s)
    assert sum(p or 0.0 for p in parts) <= world.step_s


@pytest.mark.parametrize("crowded", [True, False])
@pytest.mark.parametrize("error_s", [0.001, None])
def test_communication_takes_no_more_than_waiting_for_data_leaves(
    crowded: bool, error_s: float | None
) -> None:
    """A table of a notebook said: data 68 %, communication 100 %."""
    mine = RankSample(rank=0, step_s=0.03, data_s=0.0204, exposed_s=0.03, exposed_error_s=error_s)
    samples = [mine, replace(mine, rank=1)]
    world = estimates.world_metrics(samples, 2, crowded=crowded)
    assert world.comm_overhead == pytest.approx(0.32)
    splits = communication.with_measured(communication.split(samples, 2, crowded), 0.9, 0.1)
    assert [of.comm_overhead for of in splits.values()] == pytest.approx([0.32, 0.32])


@pytest.mark.parametrize("crowded", [True, False])
def test_parts_of_a_step_take_no_more_than_it(crowded: bool) -> None:
    mine = RankSample(
        rank=0,
        step_s=0.1,
        data_s=0.01,
        compute_s=0.09,
        optimizer_s=0.01,
        exposed_s=0.12,
        exposed_error_s=0.001,
    )
    for samples in ([mine, replace(mine, rank=1)], [mine, replace(mine, rank=1, exposed_s=0.02)]):
        world = estimates.world_metrics(samples, 2, crowded=crowded)
        assert (world.transfer_s or 0.0) + (world.wait_s or 0.0) == pytest.approx(
            (world.comm_overhead or 0.0) * 0.1
        )
        assert (world.compute_s or 0.0) <= (1 - (world.comm_overhead or 0.0)) * 0.1
    for of in communication.with_measured(communication.split(samples, 2, crowded), 0.9, 0.1).values():
        assert of.transfer_s + of.wait_s == pytest.approx(of.comm_overhead * 0.1)
        assert of.comm_overhead <= 1.0


def test_a_step_in_which_the_debugger_held_a_rank_is_left_out() -> None:
    steps = [record(index * 10, 10, samples=4) for index in range(1, 5)]
    held = replace(record(36_050, 36_000, samples=4), flags=ring.PAUSED)
    assert estimates.rank_metrics([*steps, held], 36_100 * MS).step_s == pytest.approx(0.01)
    first = record(10, 10)
    assert estimates.rank_metrics([first, held], 36_100 * MS, in_cell=2).step_s is None
    assert estimates.rank_metrics([held], 36_100 * MS, in_cell=1).step_s is None
