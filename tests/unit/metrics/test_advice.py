"""Advice follows from figures, and is silent where they are not sure."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dtrain_lab.metrics.advice import REAL_GAIN, advise, reasons, wording
from dtrain_lab.metrics.advice import text as advice_text
from dtrain_lab.metrics.advice.measured import Measured, link_share, measured, unknown, with_diagnosis
from dtrain_lab.metrics.estimates import world_metrics
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Check, Diagnosis, Tried
from dtrain_lab.wire.metrics.verdicts import Advice, Verdict
from dtrain_lab.wire.metrics.world import Epoch, Last, Metrics
from dtrain_lab.wire.node_use import HostUse
from tests.fakes.clusters import BOUND, METRICS, SAMPLES, cluster

HUNGRY = Measured(
    ranks=2, step_s=0.1, data_s=0.06, transfer_s=0.004, share=0.04, plain_ddp=True, workers=0, utilization=0.1
)
"""Reading a batch takes 60 ms in each step of 100 ms."""


def by_id(of: Measured) -> dict[str, Advice]:
    return {a.id: a for a in advise(of)}


def ids(of: Measured) -> list[str]:
    return [a.id for a in advise(of)]


def test_figures_are_taken_from_the_samples_of_all_ranks() -> None:
    assert BOUND.averaging_s == 0.05, "of the rank that comes last, which waits for nobody"
    assert (BOUND.global_batch, BOUND.plain_ddp, BOUND.hooked) == (256, True, False)
    assert measured(METRICS, [*SAMPLES, RankSample(rank=2, synced=True)], 3).averaging_s is None
    assert measured(METRICS, [], 2).plain_ddp is False


@pytest.mark.parametrize(
    ("share", "every", "gain"),
    [(0.25, 2, 1 / 0.875), (0.4, 4, 1 / 0.7), (0.5, 4, 1.6), (0.7, 8, 1 / 0.3875)],
)
def test_batches_are_accumulated_until_communication_is_worth_no_more(
    share: float, every: int, gain: float
) -> None:
    found = by_id(replace(BOUND, gpu=True, share=share, transfer_s=share / 10))["accumulate"]
    assert found.values["every"] == every
    assert found.gain == pytest.approx(gain)
    saved = 1 - 1 / every
    assert found.gain_error == pytest.approx(1 / (1 - (share + 0.02) * saved) - gain), "the larger side"
    assert (
        f"The effective batch becomes {256 * every:,}: multiply the learning rate by {every} (" in found.cost
    )


def test_an_optimizer_that_computes_gradients_again_is_not_offered_accumulation() -> None:
    again = measured(METRICS, [replace(s, repeats=True) for s in SAMPLES], 2)
    assert "accumulate" not in ids(again)
    assert unknown(again) == (
        "LBFGS computes the gradients several times in one step, so gradients of several batches can't be "
        "averaged together.",
    )


DIAGNOSED = Diagnosis("", "replayed", Check(0.5, 0.03, 0.1, 0.05, ""), None)


def test_of_what_was_diagnosed_only_transfer_is_saved() -> None:
    of = with_diagnosis(replace(BOUND, share=0.3, transfer_s=0.015), DIAGNOSED)
    assert (of.share, of.transfer_s, of.error) == (0.5, pytest.approx(0.025), 0.03)
    assert "accumulate" in by_id(of)


@pytest.mark.parametrize("estimate", [(0.0, 0.0), (None, None), (0.3, None)])
def test_what_was_diagnosed_promises_nothing_where_it_may_be_waiting(
    estimate: tuple[float | None, float | None],
) -> None:
    share, transfer = estimate
    of = with_diagnosis(replace(BOUND, share=share, transfer_s=transfer), DIAGNOSED)
    assert (of.share, of.transfer_s, of.error) == (0.5, None, 0.03)
    assert not {"accumulate", "bf16"} & set(ids(of))
    assert unknown(of)[0].startswith("How much of communication is waiting for slow ranks is not known")
    assert unknown(replace(of, share=0.04)) == (), "too little to matter"


def test_a_share_of_waiting_for_data_that_is_too_unsure_promises_nothing() -> None:
    """As found by hand: "Too unsteady to tell: 24 % ± 47", and beside it "about 32 % faster"."""
    hungry = replace(HUNGRY, data_s=0.03)
    unsure = with_diagnosis(hungry, Diagnosis("", "replayed", None, Check(0.24, 0.47, 0.1, 0.076, "")))
    assert ids(unsure) == []
    assert reasons.why_none(unsure, "") == (
        "The last diagnosis was too unsteady to promise a gain: its steps differed so much that waiting "
        "for data may take from 0 to 71 % of a step. Diagnose again when the machine is less busy."
    )
    rough = with_diagnosis(hungry, Diagnosis("", "replayed", None, Check(0.3, 0.2, 0.1, 0.07, "")))
    found = by_id(rough)
    assert found["more_ranks"].gain_error == 0.2
    gain, error = found["workers"].gain, found["workers"].gain_error
    assert error > gain - 1, "the share's error is in it: the gain is not written as a number"
    assert wording.faster(gain, error) == "may be faster"
    assert gain + error >= 1 / (1 - 0.3 - 0.2) - 0.01, "as much as is saved if the share is at its upper end"


def test_gradients_that_are_put_aside_take_time_on_a_cpu() -> None:
    found = by_id(BOUND)["accumulate"]
    assert found.gain == pytest.approx(1 / (0.7 + 0.045)), "6 million elements, 0.75 ns each"
    doubt = math.hypot(0.02 * 0.75, 0.4 * 0.045)
    assert found.gain_error == pytest.approx(1 / (0.7 + 0.045 - doubt) - found.gain)
    crowded = by_id(measured(METRICS, SAMPLES, 2, [HostUse(8, 0.9, runnable=16.0)]))["accumulate"]
    assert crowded.gain == pytest.approx(1 / (0.7 + 0.0675)), "two threads for each core"
    doubt = math.hypot(0.02 * 0.75, 0.0675 * math.hypot(0.4, 1 / 3))
    assert crowded.gain_error == pytest.approx(1 / (0.7 + 0.0675 - doubt) - crowded.gain)
    assert by_id(replace(BOUND, gradient_bytes=None))["accumulate"].gain == pytest.approx(1 / 0.7)


def test_a_loop_that_accumulates_already_accumulates_more() -> None:
    found = by_id(replace(BOUND, batches=2))["accumulate"]
    assert found.change == "Accumulate 8 batches instead of 2"
    assert found.values["batch"] == 1024
    assert "gradient_accumulation_steps=8" in found.values["code"]


def test_waiting_for_a_slow_rank_is_not_saved() -> None:
    found = by_id(replace(BOUND, gpu=True, transfer_s=0.01))["accumulate"]
    assert found.gain == pytest.approx(1 / 0.95)
    assert "accumulate" not in by_id(replace(BOUND, transfer_s=0.004))


def test_half_the_bytes_save_half_of_averaging_beyond_what_computation_hides() -> None:
    on_gpu = by_id(replace(BOUND, gpu=True))["bf16"]
    # 50 ms of averaging, 0.5 ms of it whatever the bytes; 10 ms were hidden before
    assert on_gpu.gain == pytest.approx(0.1 / (0.1 - 0.0495 / 2))
    on_cpu = by_id(replace(BOUND, gradient_bytes=8_000_000))["bf16"]
    assert on_cpu.gain == pytest.approx(0.1 / (0.1 - (0.0495 / 2 - 2e6 * 3e-9)))
    assert on_cpu.gain_error > on_gpu.gain_error
    assert "takes 2 bytes instead of 4" in on_cpu.cost
    hidden = by_id(replace(BOUND, gpu=True, averaging_s=None))["bf16"]
    assert hidden.gain == pytest.approx(0.1 / (0.1 - 0.0395 / 2))
    assert hidden.gain_error > on_gpu.gain_error, "computation may hide more than is known"
    assert "bf16" not in ids(BOUND), "a fast network gains less than casts cost"
    assert "bf16" not in ids(replace(BOUND, gradient_bytes=20_000, averaging_s=0.04, transfer_s=0.0005))


@pytest.mark.parametrize(
    "change",
    [
        {"gradient_bytes": None},
        {"gradient_item": None},
        {"gradient_item": 2},
        {"hooked": True},
        {"hooked": None},
    ],
)
def test_nothing_is_compressed_that_is_not_known_or_small_already(change: dict[str, Any]) -> None:
    assert ids(replace(BOUND, gpu=True, **change)) == ["accumulate"]


def test_double_precision_has_half_as_many_bytes_to_lose() -> None:
    found = by_id(replace(BOUND, gpu=True, gradient_item=8))
    assert found["float32"].gain == pytest.approx(1.25)
    assert found["bf16"].gain > found["float32"].gain


def test_the_largest_gain_comes_first() -> None:
    gains = [a.gain for a in advise(replace(BOUND, gpu=True, gradient_item=8))]
    assert gains == sorted(gains, reverse=True)


def test_workers_read_ahead_until_reading_is_hidden_and_more_ranks_are_no_help() -> None:
    found = by_id(HUNGRY)
    assert list(found) == ["workers", "more_ranks"]
    assert found["workers"].values["workers"] == 2, "one has a batch after 60 ms, the rest takes 40"
    assert found["workers"].gain == pytest.approx(2.5)
    assert "num_workers=2" in found["workers"].values["code"]
    assert (found["more_ranks"].gain, found["more_ranks"].diff) == (1.0, "")
    assert found["more_ranks"].cost.startswith("Each rank waits for data 60 % of a step.")


def test_workers_that_do_not_keep_up_become_more() -> None:
    # two of them need 200 ms for a batch
    found = by_id(replace(HUNGRY, workers=2))["workers"]
    assert found.values["workers"] == 8
    assert found.change == "Read batches ahead with 8 worker processes per rank instead of 2"
    assert found.gain == pytest.approx(2.5)


def test_workers_without_a_core_do_not_read() -> None:
    assert ids(replace(HUNGRY, utilization=1.0)) == ["more_ranks"]
    assert by_id(replace(HUNGRY, utilization=0.8))["workers"].gain == pytest.approx(1 / 0.8)
    unsure = by_id(replace(HUNGRY, utilization=None))["workers"]
    assert unsure.gain_error > 0.7


def test_on_a_busy_machine_the_best_change_is_told_with_its_error() -> None:
    """As found on two cores: bf16 alone was told, and accumulating, left out, was measured to gain 45 %."""
    busy = measured(
        replace(METRICS, step_s=0.061, transfer_s=0.025, comm_overhead=0.41, gradient_bytes=9_500_000),
        SAMPLES,
        2,
        [HostUse(2, 1.0, runnable=9.0)],
    )
    found = by_id(replace(busy, error=0.2))
    assert next(iter(found)) == "accumulate", "by gain"
    assert found["accumulate"].gain == pytest.approx(1.45, abs=found["accumulate"].gain_error)
    assert found["accumulate"].gain > 1.2
    if "bf16" in found:
        assert found["bf16"].gain == pytest.approx(1.13, abs=found["bf16"].gain_error)
    unsure = by_id(replace(busy, error=0.4))["accumulate"]
    lines = advice_text.lines(told(unsure), cluster(step_s=0.061))
    assert "batches: may be faster. Steps are too unsteady now to tell by how much. The eff" in lines[0]
    assert "    %distributed advise --try accumulate  # measures it" in lines


def test_a_small_gain_is_not_told_where_its_error_is_as_large() -> None:
    small = replace(BOUND, gpu=True, transfer_s=0.012)
    assert by_id(small)["accumulate"].gain < 1.1
    assert "accumulate" not in by_id(replace(small, error=0.2))


def test_no_more_workers_are_advised_than_the_cores_have_time_for() -> None:
    """As found: 16 workers a rank on 2 cores were to gain 805 % ± 164; 160 to 540 were measured."""
    metrics = replace(METRICS, step_s=0.041, data_s=0.038, transfer_s=0.0, comm_overhead=0.0)
    two_cores = measured(metrics, SAMPLES, 2, [HostUse(2, 0.1)])
    assert two_cores.cores == 1
    found = by_id(two_cores)["workers"]
    assert found.values["workers"] == 4, "reading waits for something other than a core"
    assert 3 < found.gain < 5
    assert found.gain_error == pytest.approx(0.3 * (found.gain - 1), rel=0.2)
    assert by_id(replace(two_cores, utilization=0.6))["workers"].values["workers"] == 1, "reading computes"
    assert "workers" not in by_id(replace(two_cores, workers=4)), "more are not advised"


def test_cores_that_others_use_are_not_taken_for_training() -> None:
    ours = [replace(s, cpu_utilization=0.5) for s in SAMPLES]
    alone, shared = HostUse(4, 0.25), HostUse(4, 0.75)
    assert measured(METRICS, ours, 2, [alone]).utilization == pytest.approx(0.25)
    assert measured(METRICS, ours, 2, [shared]).utilization == pytest.approx(1 / 3), "half of others' 2 cores"
    assert measured(METRICS, SAMPLES, 2, [shared]).utilization == pytest.approx(0.75), "not known whose"
    assert measured(METRICS, ours, 2, [alone, shared]).utilization == pytest.approx(0.75)
    assert measured(METRICS, ours, 2, [HostUse(4, None)]).utilization is None
    assert measured(METRICS, ours, 2).utilization is None


def test_one_rank_gets_advice_on_data_only() -> None:
    assert ids(replace(HUNGRY, ranks=1)) == ["workers", "more_ranks"]
    assert ids(replace(BOUND, ranks=1)) == []


def test_nothing_is_advised_where_the_figures_do_not_carry_it() -> None:
    assert advise(Measured(ranks=2)) == ()
    assert advise(measured(Metrics(), (), 2)) == ()
    assert ids(replace(BOUND, share=0.19, transfer_s=0.019)) == []
    assert ids(replace(BOUND, bound=True)) == []
    assert ids(replace(BOUND, plain_ddp=False)) == [], "collectives by hand or FSDP"
    assert ids(replace(BOUND, share=0.4, transfer_s=0.04, error=0.4)) == []
    assert ids(replace(BOUND, transfer_s=0.0, share=0.0)) == []
    assert ids(replace(HUNGRY, workers=None)) == ["more_ranks"]


@pytest.mark.parametrize("strange", [math.nan, math.inf, -1.0, 0.0])
@pytest.mark.parametrize("field", ["step_s", "transfer_s", "share", "data_s", "averaging_s", "utilization"])
def test_a_figure_that_is_none_gives_no_advice_of_its_own(field: str, strange: float) -> None:
    for of in (BOUND, HUNGRY):
        for advice in advise(replace(of, **{field: strange})):
            assert math.isfinite(advice.gain)
            assert math.isfinite(advice.gain_error)


FIGURE = st.one_of(st.none(), st.floats(), st.floats(0, 1), st.just(1e-9))


@given(
    step=FIGURE, data=FIGURE, transfer=FIGURE, share=FIGURE, error=st.floats(), averaging=FIGURE, busy=FIGURE,
    sent=st.one_of(st.none(), st.integers(0, 10**12)), item=st.sampled_from([None, 2, 4, 8]),
    workers=st.one_of(st.none(), st.integers(0, 64)), ranks=st.integers(1, 4096),
)  # fmt: skip
def test_whatever_is_measured_gains_are_finite_and_real_or_larger_than_their_error(
    step: Any, data: Any, transfer: Any, share: Any, error: float, averaging: Any, busy: Any, sent: Any,
    item: Any, workers: Any, ranks: int,
) -> None:  # fmt: skip
    of = Measured(
        ranks=ranks, step_s=step, data_s=data, transfer_s=transfer, share=share, error=error,
        averaging_s=averaging, utilization=busy, gradient_bytes=sent, gradient_item=item, hooked=False,
        plain_ddp=True, workers=workers,
    )  # fmt: skip
    found = advise(of)
    assert len({a.id for a in found}) == len(found)
    for advice in found:
        assert 1 <= advice.gain <= 101
        assert math.isfinite(advice.gain_error)
        assert advice.gain_error <= advice.gain
        assert advice.id == "more_ranks" or advice.gain - 1 >= min(REAL_GAIN, advice.gain_error)
    assert all(isinstance(text, str) for text in unknown(of))


def test_what_is_not_known_is_said() -> None:
    assert unknown(BOUND) == ()
    assert unknown(Measured(ranks=2)) == (
        "No training steps were measured yet. Train a few steps, and ask again.",
    )
    for change, said in (
        ({"share": None}, "The communication time is not known"),
        ({"transfer_s": None}, "How much of communication is waiting"),
        ({"bound": True}, "Some communication can't be seen"),
        ({"plain_ddp": False}, "Gradients are not averaged by DDP"),
        ({"gradient_bytes": None}, "The size of the gradients is not known"),
        ({"workers": None, "data_s": 0.01}, "Batches don't come from a torch DataLoader"),
    ):
        [text] = unknown(replace(BOUND, **change))
        assert text.startswith(said)
    assert unknown(replace(BOUND, ranks=1, plain_ddp=False)) == ()
    marked = Measured(ranks=2, step_s=0.1)  # steps that dt.step tells, with another framework
    assert "DataLoader" not in " ".join(unknown(marked))
    assert advise(replace(marked, utilization=0.1, global_batch=64, rank_batch=32, cores=4)) == ()


def test_the_share_of_the_network_is_that_of_a_ring() -> None:
    assert link_share(100_000_000, 1.0, 2, 1e9) == pytest.approx(0.1)
    assert link_share(100_000_000, 1.0, 4, 1e9) == pytest.approx(0.15)
    assert link_share(100, 1.0, 1, 1e9) is None
    assert link_share(None, 1.0, 2, 1e9) is None
    assert link_share(100, 1.0, 2, None) is None
    assert link_share(100, math.nan, 2, 1e9) is None


def told(*advice: Advice) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(a) for a in advice]


def test_sentences_say_what_is_won_and_what_changes() -> None:
    first, *rest = advise(replace(BOUND, gpu=True))
    shown = cluster(gradient_bytes=24_000_000, link_share=0.38, unknown=("Something is not known.",))
    lines = advice_text.lines(told(replace(first, diff="-a\n+b"), *rest), shown)
    assert lines[0].startswith("Accumulate 4 batches: about 43 % faster. The effective")
    assert lines[1:3] == ["    -a", "    +b"]
    assert '    model, optimizer = dt.optimize(model, optimizer, gradient_compression="bf16")' in lines
    assert lines[-2:] == [
        "Something is not known.",
        "Each rank averages 24.0 MB of gradients a step, 38 % of what the network can carry.",
    ]
    ended = advice_text.lines(told(first), cluster(last=Last(step_s=0.1, gradient_bytes=1000)))
    assert ended[-1] == "Each rank averages 1.0 kB of gradients a step."
    last = advice_text.lines(told(advise(HUNGRY)[-1]), cluster())
    assert last[0].startswith("More ranks will not help: training is input-bound. Each rank")


@pytest.mark.parametrize(("share", "error"), [(0.21, 0.3), (0.12, 0.15), (0.02, 0.98)])
def test_after_an_unsteady_diagnosis_advice_says_so_instead_of_asking_for_one(
    share: float, error: float
) -> None:
    """The newcomer was sent from the one to the other."""
    found = Diagnosis("", "replayed", Check(share, error, 0.1, 0.1 * (1 - share), ""), None)
    why = reasons.why_none(with_diagnosis(BOUND, found), "")
    assert why == (
        "The last diagnosis was too unsteady to promise a gain: its steps differed so much that "
        f"communication may take from 0 to {min(100, round(100 * (share + error)))} % of a step. "
        "Diagnose again when the machine is less busy."
    )
    seen = replace(cluster(), metrics=Metrics(last=Last(), no_advice=why))
    assert advice_text.lines([], seen)[:2] == [why, "    %distributed diagnose"]
    assert reasons.asks_diagnosis(why)
    steady = Diagnosis("", "replayed", Check(0.02, 0.01, 0.1, 0.098, ""), None)
    assert not reasons.asks_diagnosis(reasons.why_none(with_diagnosis(BOUND, steady), ""))


def test_the_loader_of_a_slow_rank_is_named_where_the_others_wait_for_that_rank_not_for_data() -> None:
    """The newcomer was told that each rank waits for data 78 % of a step: rank 0 did not."""
    values = {"over_s": 0.078, "data_s": 0.078, "cause": ", in every step: data"}
    slow = Verdict("slow-1", "slow", "slow", values, "", ranks=(1,), peers=(0,), hint="78 ms: its loader.")
    one = replace(HUNGRY, data_s=0.078, slow=slow)  # a diagnosis measures it on all ranks: they wait, too
    assert ids(one) == ["slow_loader", "workers"]
    found = advise(one)[0]
    assert found.change == ("Make the data loader of rank 1 faster: rank 0 waits for it, 78 % of a step")
    assert "Each rank waits" not in found.cost
    asleep = replace(slow, values=values | {"cause": ", in every step: asleep"})
    assert ids(replace(one, slow=asleep)) == ["workers", "more_ranks"], "its loader is like the others'"
    little = replace(slow, values=values | {"over_s": 0.02, "data_s": 0.02})
    assert ids(replace(one, slow=little)) == ["workers", "more_ranks"], "all wait, this one a little longer"


def test_what_was_measured_replaces_what_was_promised() -> None:
    first = advise(replace(BOUND, gpu=True))[0]
    unsure = replace(first, gain_error=0.9)
    [promised, ask, *_] = advice_text.lines(told(unsure), cluster(), terminal=True)
    assert ": may be faster. Steps are too unsteady now" in promised
    assert ask == "    dtrain-lab cluster advise name --try accumulate  # measures it"
    assert "    %distributed advise --try accumulate  # measures it" in advice_text.lines(
        told(unsure), cluster()
    )
    tried = replace(unsure, tried=Tried("accumulate", 1.4, 0.05, 1.43, 0.9, 24, ""))
    [measured, *rest] = advice_text.lines(told(tried), cluster())
    assert measured.startswith(
        "Accumulate 4 batches: 40 % ± 5 faster when tried. Measured over 24 batches. "
        "Predicted: may be faster. The effective"
    )
    assert not any("--try" in line for line in rest)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "Communication takes 40 % ± 2 of a step, but no known change is certain to shorten it."),
        ({"error": 0.5}, "How long communication takes is too unsteady to promise a gain."),
        (
            {"transfer_s": 0.01},
            "Communication takes 40 % ± 2 of a step, most of it waiting for a slower rank: averaging less "
            "would not shorten that.",
        ),
        ({"bound": True}, "Some communication can't be seen"),
        (
            {"share": 0.04, "transfer_s": 0.004},
            "Computation takes the time: communication is 4 % ± 2 of a step, waiting for data 0 %.",
        ),
        (
            {"share": 0.04, "transfer_s": 0.004, "beside": 0.77},
            "Your loop's own code takes 77 % ± 2 of a step.",
        ),
        (
            {"share": 0.04, "data_s": 0.03},
            "Waiting for data takes 30 % of a step, but the cores have no time for more workers.",
        ),
    ],
)
def test_why_no_change_is_advised_is_one_sentence(changes: dict[str, Any], said: str) -> None:
    assert reasons.why_none(replace(BOUND, **changes), "").startswith(said)
    assert reasons.why_none(replace(BOUND, **changes), "Busy.") == f"Busy. {reasons.MEASURE}"
    assert reasons.why_none(None, "Busy.") == "", "nothing has trained"


def test_the_effective_batch_is_told_where_gradients_are_accumulated() -> None:
    four = Metrics(rank_batch=8, global_batch=16, accumulated=4, epoch=Epoch(1, 2, 100, split=True))
    assert advice_text.batch(four, 2) == "batch 8 × 2 ranks × 4 accumulated = 64"
    assert advice_text.batch(Metrics(global_batch=15, accumulated=4), 2) == (
        "batch 15 on 2 ranks × 4 accumulated = 60"
    )
    lost = Metrics(current=False, last=Last(rank_batch=8, global_batch=24))
    assert advice_text.batch(lost, 2) == "Last: batch 8 × 3 ranks = 24", "beside the two of now"
    assert advice_text.batch(lost, 3) == "batch 8 × 3 ranks = 24"
    told = advice_text.batches(four, cluster())
    assert "a step would train on 128 samples instead of 64" in told
    assert "an epoch would take 13 steps instead of 25 if" in told, "of the optimizer"
    samples = [replace(s, step_s=0.1, batch=8, batches=4) for s in SAMPLES]
    found = world_metrics(samples, 2, crowded=False)
    assert (found.rank_batch, found.global_batch, found.accumulated) == (8, 16, 4)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (cluster(step_s=0.1, no_advice="Its reason."), "Its reason."),
        (cluster(), "No training steps were measured yet. Train a few steps, and ask again."),
        (cluster(last=Last(step_s=0.1)), "No known change is certain"),
        (cluster(1, step_s=0.1, gradient_bytes=9), "name has one rank, which exchanges nothing"),
        (
            cluster(verdicts=(Verdict("a", "stuck", "stuck", {}, "Rank 1 is not there."),)),
            "Rank 1 is not there. There is no advice until training continues.",
        ),
    ],
)
def test_without_advice_the_reason_is_said(found: Cluster, said: str) -> None:
    [line] = advice_text.lines([], found)
    assert line.startswith(said)


def test_without_advice_it_is_said_what_could_not_be_judged() -> None:
    lines = advice_text.lines([], cluster(step_s=0.1, unknown=("Not DDP.",)))
    assert lines == [advice_text.NOTHING, "Not DDP."]


def test_what_a_diagnosis_could_not_tell_is_no_ground_for_advice() -> None:
    """As found: "Waiting for data: too unsteady to tell", and a card "waits for data 55 % ± 43 of a step"."""
    unsteady = replace(HUNGRY, data_s=0.055, data_error=0.43, diagnosed=True)
    assert ids(unsteady) == []
    assert "may take from 12 to 98 % of a step" in reasons.why_none(unsteady, "")
    assert ids(replace(unsteady, data_error=0.2)) != []
    bound = replace(BOUND, share=0.5, transfer_s=0.05, step_s=0.1, error=0.4, diagnosed=True)
    assert ids(bound) == []
    assert ids(replace(bound, error=0.1)) != []
