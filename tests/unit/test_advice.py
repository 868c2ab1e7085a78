"""Advice follows from figures, and is silent where they are not sure."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dtrain_lab.head.figures.advice import Changes
from dtrain_lab.metrics.advice import advise
from dtrain_lab.metrics.advice import text as advice_text
from dtrain_lab.wire import clients
from dtrain_lab.wire.cluster import Cluster, Summary, World
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Last, Metrics

SAMPLES = [RankSample(rank=r, synced=True) for r in range(2)]
METRICS = Metrics(
    samples_per_s=2560.0, step_s=0.1, transfer_s=0.04, wait_s=0.0, comm_overhead=0.4, comm_overhead_error=0.02
)


def test_gradients_that_are_sent_half_as_often_take_half_the_time() -> None:
    [advice] = advise(METRICS, SAMPLES)
    assert advice.id == "accumulate"
    # two batches: 2 × 60 ms of its own and 40 ms of transfer, where it was 200 ms
    assert advice.gain == pytest.approx(200 / 160)
    assert advice.gain_error == pytest.approx(0.02 / 2 / 0.8**2)
    assert advice.cost == "The batch becomes 512."
    assert advice.values == {"batch": 512}


def test_waiting_for_a_slow_rank_is_not_saved() -> None:
    [advice] = advise(replace(METRICS, transfer_s=0.01, wait_s=0.03), SAMPLES)
    assert advice.gain == pytest.approx(1 / 0.95)
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


def cluster(size: int = 2, **changes: Any) -> Cluster:
    """A cluster as far as advice looks at it."""
    return Cluster(
        "id", "name", "local", "ready", None, Summary("ready", {}, ""), World(size, 0), (), (),
        Metrics(**changes), (), (), "me", (), 0.0,
    )  # fmt: skip


def test_sentences_say_what_is_won_and_what_changes() -> None:
    [told] = [msgspec.to_builtins(one) for one in advise(METRICS, SAMPLES)]
    first, *diff = advice_text.lines([{**told, "diff": "-a\n+b"}], cluster())
    assert first.endswith("(model.no_sync()): about 25 % faster (±2). The batch becomes 512.")
    assert diff == ["    -a", "    +b"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (cluster(), "No training steps were measured yet. Train a few steps, and ask again."),
        (cluster(last=Last(step_s=0.1)), "No change that is known here"),
        (cluster(1, step_s=0.1), "name has one rank, which exchanges nothing"),
        (
            cluster(verdicts=(Verdict("a", "stuck", "stuck", {}, "Rank 1 is not there."),)),
            "Rank 1 is not there. There is no advice until training goes on.",
        ),
    ],
)
def test_without_advice_the_reason_is_said(found: Cluster, said: str) -> None:
    [line] = advice_text.lines([], found)
    assert line.startswith(said)


def test_the_change_is_that_of_the_cell_that_trains_whatever_ran_since() -> None:
    loop = "model = DDP(net)\nfor x in loader:\n    model(x).backward()\n    optimizer.step()"
    orders = [clients.Run("1", loop, "[1]"), clients.Run("2", "print(1)", "[2]")]
    [given] = Changes.given(advise(METRICS, SAMPLES), orders)
    assert "model.no_sync()" in given.diff
