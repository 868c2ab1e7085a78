"""Throughput on more nodes, predicted from a loop and a network."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dtrain_lab.api.measurements import check_advise
from dtrain_lab.errors import BadRequest
from dtrain_lab.metrics.advice.forecast import forecast
from dtrain_lab.metrics.advice.measured import Measured
from dtrain_lab.wire.node_check import MeasuredSpeed

LOOP = Measured(
    ranks=2,
    step_s=0.1,
    data_s=0.0,
    transfer_s=0.01,
    averaging_s=0.01,
    error=0.0,
    plain_ddp=True,
    gradient_bytes=10_000_000,
    gradient_item=4,
)
GIGABIT = MeasuredSpeed(round_trip_s=0.0, bytes_per_s=125e6, at=0.0)


def test_a_ring_carries_the_gradients_almost_twice_over_each_nodes_network() -> None:
    found = forecast(LOOP, 1, 2, 4, GIGABIT)
    assert found.transfer_s == pytest.approx(2 * 3 / 4 * 10 / 125)
    assert found.step_s == pytest.approx(0.09 + 0.12)
    assert found.gain == pytest.approx(2 * 0.1 / 0.21), "fewer than twice the samples a second"
    assert found.gain_error == pytest.approx(found.gain * 0.25 * 0.12 / 0.21)
    assert found.text == (
        "4 ranks on 2 nodes would have 0.95 ± 0.14 times today's throughput; if communication took no time, "
        "2 times. A step would take 210 ms, of which ranks would wait 120 ms for communication. Assumed: "
        "each rank keeps its batch, and 10.0 MB of gradients are averaged in a ring of 4 ranks, with the "
        "125.0 MB a second measured between two nodes on 01 Jan 1970."
    )


def test_more_ranks_with_the_same_batch_make_shorter_epochs_of_larger_batches() -> None:
    known = forecast(replace(LOOP, rank_batch=32, epoch_steps=101), 1, 2, 4, GIGABIT)
    assert known.text.endswith(
        " With 4 ranks and still 32 samples on each (weak scaling), a step would train on 128 samples "
        "instead of 64, and an epoch would take 51 steps instead of 101 if each rank reads its own part of "
        "the data."
    )
    assert (
        "an epoch would take half as many steps if"
        in forecast(replace(LOOP, rank_batch=32), 1, 2, 4, GIGABIT).text
    )


def test_turns_of_the_ring_take_half_a_round_trip_each_for_every_bucket() -> None:
    slow = MeasuredSpeed(round_trip_s=0.01, bytes_per_s=1e15, at=0.0)
    found = forecast(LOOP, 1, 4, 4, slow)
    assert found.transfer_s == pytest.approx(6 * 0.005)


def test_what_computation_hides_today_stays_hidden() -> None:
    hidden = replace(LOOP, averaging_s=0.05)
    assert forecast(hidden, 1, 2, 4, GIGABIT).transfer_s == pytest.approx(0.12 - 0.04)
    unknown = forecast(replace(LOOP, averaging_s=None), 1, 2, 4, GIGABIT)
    assert unknown.transfer_s == pytest.approx(0.12 - 0.045)
    assert unknown.gain_error > 0.2


def test_on_several_nodes_the_ring_is_scaled_by_what_averaging_takes_there() -> None:
    now = replace(LOOP, transfer_s=0.16, averaging_s=0.16, step_s=0.25)  # twice the ring's 80 ms
    found = forecast(now, 2, 4, 4, GIGABIT, GIGABIT)
    assert found.transfer_s == pytest.approx(0.24)
    assert found.gain_error == pytest.approx(found.gain * 0.1 * 0.24 / 0.33)
    faster = forecast(now, 2, 4, 4, MeasuredSpeed(0.0, 1250e6, 0.0), GIGABIT)
    assert faster.transfer_s == pytest.approx(0.024), "nodes with another network"
    unknown = forecast(now, 2, 4, 4, GIGABIT)
    assert unknown.transfer_s == pytest.approx(0.12), "by the ring alone"
    assert unknown.gain_error == pytest.approx(unknown.gain * 0.25 * 0.12 / 0.21)


@pytest.mark.parametrize(
    ("of", "nodes", "speed", "message"),
    [
        (LOOP, 1, GIGABIT, "share processors and memory"),
        (None, 2, GIGABIT, "No training steps"),
        (replace(LOOP, plain_ddp=False), 2, GIGABIT, "not averaged by DDP"),
        (replace(LOOP, gradient_bytes=None), 2, GIGABIT, "size of the gradients"),
        (LOOP, 2, None, "speed of the network"),
    ],
)
def test_what_is_not_known_is_said(
    of: Measured | None, nodes: int, speed: MeasuredSpeed | None, message: str
) -> None:
    with pytest.raises(BadRequest, match=message):
        forecast(of, 1, nodes, 4, speed)


@pytest.mark.parametrize("nodes", [0, -3])
def test_no_nodes_are_refused_as_such(nodes: int) -> None:
    with pytest.raises(BadRequest, match=f"{nodes} is not a number of nodes"):
        check_advise(None, nodes, None, None)
    with pytest.raises(BadRequest, match=f"{nodes} is not a number of nodes"):
        forecast(LOOP, 1, nodes, 4, GIGABIT)
    with pytest.raises(BadRequest, match=f"{nodes} is not a number of ranks"):
        check_advise(None, 2, nodes, None)


def test_advise_answers_one_question() -> None:
    check_advise("bf16", None, None, None)
    check_advise(None, 4, 2, "gpus")
    with pytest.raises(BadRequest, match="not both"):
        check_advise("bf16", 4, None, None)
    with pytest.raises(BadRequest, match="to a forecast"):
        check_advise(None, None, 2, None)
