"""Predicts throughput on more nodes from a measured loop and a measured network. Pure.

Ring all-reduce: to average n ranks' gradients, each node's network carries 2 (n − 1) / n of them in each
direction, in 2 (n − 1) steps per bucket (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for
clusters of workstations", 2009). Computation is assumed to hide as much of averaging as it does today, and
the rest of a step to stay as it is. If the loop already runs on several nodes whose network speed is known,
the predicted ring time is scaled by the time that averaging really takes there.
"""

from __future__ import annotations

import time

from dtrain_lab.errors import BadRequest
from dtrain_lab.metrics.advice.communication import BUCKET
from dtrain_lab.metrics.advice.measured import Measured
from dtrain_lab.text.units import counted, size_text
from dtrain_lab.wire.metrics.forecast import Forecast
from dtrain_lab.wire.node_check import MeasuredSpeed, Speed

SPREAD = 0.25
"""Error of the ring's time, as a share, if no averaging over a network was measured."""
MEASURED_SPREAD = 0.10
"""The same if it was measured."""
MEASURE = "Measure the network: dtrain-lab profile check NAME, then name that profile."


def forecast(
    of: Measured | None,
    nodes_now: int,
    nodes: int,
    ranks: int,
    speed: MeasuredSpeed | None,
    speed_now: MeasuredSpeed | None = None,
) -> Forecast:
    """Predict the loop on more nodes.

    Args:
        of: metrics of the loop that trained last; None without one.
        nodes_now: number of nodes that it ran on.
        nodes: number of nodes to predict for, at least 2.
        ranks: number of ranks on all of them.
        speed: measured speed between two of them; None if none was measured.
        speed_now: measured speed between two of the nodes that it ran on; None if none was measured.

    Raises:
        BadRequest: `nodes` is not a number of nodes, or something that the prediction needs is not known; the
            message says what.
    """
    check_numbers(nodes, None)
    if nodes < 2:
        raise BadRequest(
            "On one node nothing is predicted: its ranks share processors and memory.",
            "Start more ranks there and compare: %distributed resize N",
        )
    if of is None or of.step_s is None:
        raise BadRequest("No training steps were measured yet.", "Train a few steps, and ask again.")
    if of.ranks > 1 and not of.plain_ddp:
        raise BadRequest(
            "Gradients are not averaged by DDP on all ranks, so nothing is predicted.",
            "Wrap the model in DDP.",
        )
    if of.gradient_bytes is not None and of.transfer_s is None:
        raise BadRequest(
            "How much of communication is waiting for slow ranks is not known.", "Train, and ask meanwhile."
        )
    if of.gradient_bytes is None or of.transfer_s is None:
        raise BadRequest("The size of the gradients is not known.", "Train a DDP model on 2 ranks or more.")
    if speed is None or speed.bytes_per_s <= 0:
        raise BadRequest("The speed of the network between the nodes is not known.", MEASURE)
    slower = _slower_than_ring(of, of.gradient_bytes, speed_now) if nodes_now > 1 else None
    ring = _ring_s(of.gradient_bytes, ranks, speed) * (slower or 1.0)
    spread = MEASURED_SPREAD if slower else SPREAD
    hidden, doubt = _hidden_s(of, ring, of.step_s - of.transfer_s)
    transfer = max(0.0, ring - hidden)
    step = of.step_s - of.transfer_s + transfer
    gain = ranks / of.ranks * of.step_s / step
    error = spread * ring + doubt + of.error * of.step_s
    return Forecast(
        nodes=nodes,
        ranks=ranks,
        gain=gain,
        gain_error=gain * min(1.0, error / step),
        step_s=step,
        transfer_s=transfer,
        text=_text(nodes, ranks, gain, gain * min(1.0, error / step), step, transfer, of, speed),
    )


def check_numbers(nodes: int, ranks_per_node: int | None) -> None:
    """Check the numbers of nodes and ranks of a forecast.

    Args:
        nodes: number of nodes.
        ranks_per_node: ranks per node; None for the current number.

    Raises:
        BadRequest: One of them is below 1.
    """
    if nodes < 1:
        raise BadRequest(f"{nodes} is not a number of nodes.", "Give 2 or more, as in: --nodes 2")
    if ranks_per_node is not None and ranks_per_node < 1:
        raise BadRequest(
            f"{ranks_per_node} is not a number of ranks per node.",
            "Give 1 or more, as in: --ranks-per-node 2",
        )


def weak_scaling(each: int, ranks_now: int, ranks: int, batches: int | None, accumulated: int = 1) -> str:
    """Describe the effect of more ranks on batch and epoch, if the per-rank batch is kept.

    Args:
        each: samples per rank in one step of the optimizer, with all accumulated batches.
        ranks_now: number of ranks today.
        ranks: number of ranks to predict for.
        batches: batches of an epoch on each rank today; None if unknown.
        accumulated: number of batches in one step of the optimizer.

    Returns:
        A sentence.
    """
    share = "half" if ranks == 2 * ranks_now else f"{ranks_now / ranks:.2g} times"
    epoch = f"{share} as many steps"
    if batches:
        then, now = (-(-n // accumulated) for n in (-(-batches * ranks_now // ranks), batches))
        epoch = f"{counted(then, 'step')} instead of {now:,}"
    return (
        f"With {ranks} ranks and still {counted(each, 'sample')} on each (weak scaling), a step would train "
        f"on {each * ranks:,} samples instead of {each * ranks_now:,}, and an epoch would take {epoch} if "
        "each rank reads its own part of the data."
    )


def _slower_than_ring(of: Measured, sent: int, speed: MeasuredSpeed | None) -> float | None:
    """How many times longer averaging takes than predicted, over the network that it uses.

    Args:
        of: metrics of the loop.
        sent: bytes of its gradients.
        speed: measured speed of the network.

    Returns:
        The factor; None if one of the two times is not known.
    """
    if not of.averaging_s or speed is None or speed.bytes_per_s <= 0:
        return None
    return of.averaging_s / _ring_s(sent, of.ranks, speed)


def _hidden_s(of: Measured, ring: float, rest: float) -> tuple[float, float]:
    """Seconds of averaging that computation hides, and the error of that.

    Args:
        of: metrics of the loop.
        ring: predicted time of one averaging, seconds.
        rest: what a step takes without transfer, seconds.
    """
    if of.averaging_s is not None and of.transfer_s is not None:
        return max(0.0, of.averaging_s - of.transfer_s), 0.0
    most = min(ring, max(0.0, rest - (of.data_s or 0.0)))
    return most / 2, most / 2  # between none of it and as much as computation lasts


def _ring_s(sent: int, ranks: int, speed: Speed) -> float:
    """Seconds of one averaging in a ring over the network."""
    steps = 2 * (ranks - 1)
    buckets = 1 + sent // BUCKET
    return steps / ranks * sent / speed.bytes_per_s + steps * buckets * speed.round_trip_s / 2


def _text(
    nodes: int,
    ranks: int,
    gain: float,
    error: float,
    step: float,
    transfer: float,
    of: Measured,
    speed: MeasuredSpeed,
) -> str:
    most = ranks / of.ranks
    weak = ""
    if of.rank_batch:
        each = of.rank_batch * of.batches
        weak = f" {weak_scaling(each, of.ranks, ranks, of.epoch_steps, of.batches)}"
    day = time.strftime("%d %b %Y", time.localtime(speed.at))
    return (
        f"{ranks} ranks on {nodes} nodes would have {gain:.2f} ± {error:.2f} times today's throughput; "
        f"if communication took no time, {most:g} times. A step would take {step * 1e3:.3g} ms, of which "
        f"ranks would wait {transfer * 1e3:.3g} ms for communication. Assumed: each rank keeps its batch, "
        f"and {size_text(of.gradient_bytes or 0)} of gradients are averaged in a ring of {ranks} ranks, with "
        f"the {size_text(int(speed.bytes_per_s))} a second measured between two nodes on {day}.{weak}"
    )
