"""Advice follows from figures, and is silent where they are not sure."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.metrics.advice import advise
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.world import Metrics

SAMPLES = [RankSample(rank=r, synced=True) for r in range(2)]
METRICS = Metrics(
    samples_per_s=2560.0, step_s=0.1, transfer_s=0.04, wait_s=0.0, comm_overhead=0.4, comm_overhead_error=0.02
)


def test_gradients_that_are_sent_half_as_often_take_half_the_time() -> None:
    [advice] = advise(METRICS, SAMPLES)
    assert advice.id == "accumulate"
    # two batches: 2 × 60 ms of its own and 40 ms of transfer, where it was 200 ms
    assert advice.gain == pytest.approx(200 / 160 - 1)
    assert advice.gain_error == pytest.approx(0.02 / 2 / 0.8**2)
    assert advice.cost == "The batch becomes 512."
    assert advice.values == {"batch": 512}


def test_waiting_for_a_slow_rank_is_not_saved() -> None:
    [advice] = advise(replace(METRICS, transfer_s=0.01, wait_s=0.03), SAMPLES)
    assert advice.gain == pytest.approx(1 / 0.95 - 1)
    assert advise(replace(METRICS, transfer_s=0.004, wait_s=0.036), SAMPLES) == ()


def test_nothing_is_advised_where_the_figures_do_not_carry_it() -> None:
    assert advise(Metrics(), ()) == ()
    assert advise(replace(METRICS, comm_overhead=0.21, transfer_s=0.021), SAMPLES) == ()
    assert advise(replace(METRICS, comm_bound="lower"), SAMPLES) == ()
    assert advise(METRICS, [*SAMPLES, RankSample(rank=2)]) == (), "collectives by hand or FSDP"
    wide = replace(METRICS, comm_overhead=0.6, transfer_s=0.05, comm_overhead_error=0.4)
    assert advise(wide, SAMPLES) == ()


def test_a_batch_that_is_not_known_is_not_made_up() -> None:
    [advice] = advise(replace(METRICS, unsure=True), SAMPLES)
    assert advice.cost == "The batch becomes twice as large."
