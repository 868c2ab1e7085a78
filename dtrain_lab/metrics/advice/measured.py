"""Measured metrics from which advice is derived, and which of them are unknown. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dtrain_lab.metrics.diagnosis_text import TELLING
from dtrain_lab.metrics.measured_communication import scaled
from dtrain_lab.metrics.own_time import own_code_share
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Diagnosis
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import HostUse

FAIR = 0.5
"""Share of the cores used by others that training would get if it needed them."""


class Measured(Struct, frozen=True, kw_only=True):
    """Metrics of a training loop on all of its ranks; None if unknown. Seconds, bytes, shares 0 to 1.

    `error` is that of communication, `data_error` that of waiting for data, as shares of a step.
    `averaging_s`: time of averaging that nothing hides; `transfer_s` is what remains of it beside the
    computation. `plain_ddp`: gradients are averaged by DDP on all ranks, and all of it is seen.
    `gradient_item`: bytes of one element. `repeats`: an optimizer computes gradients several times in one
    step. `batches`: backward passes for each averaging. `stream`: the loader has no length. `utilization`:
    share of the cores that training can get which it uses, on the busiest node. `crowd`: threads that want
    each of its cores, at least 1. `cores`: for each rank of the node that has fewest. `rank_batch`: samples
    of one pass on each rank. `epoch_steps`: batches of an epoch on each rank. `own`: share of a step that the
    loop's own code takes, if a diagnosis found that it takes the most; else 0; `own_error`: its error.
    `beside`: share of a step that is none of the parts which the monitor knows; 0 if they were measured by a
    diagnosis. `asleep`: share of a step in which ranks wait for something that is not seen, if that is most
    of it; else 0. `slow`: verdict on a rank for which the others wait; None without one. `diagnosed`: shares
    were measured by a diagnosis. `called`: the part of `share` in collectives that the loop calls itself, if
    a diagnosis found any.
    """

    ranks: int
    step_s: float | None = None
    data_s: float | None = None
    data_error: float = 0.0
    transfer_s: float | None = None
    error: float = 0.0
    share: float | None = None
    averaging_s: float | None = None
    global_batch: int | None = None
    rank_batch: int | None = None
    epoch_steps: int | None = None
    plain_ddp: bool = False
    bound: bool = False
    gradient_bytes: int | None = None
    gradient_item: int | None = None
    hooked: bool | None = None
    repeats: bool = False
    batches: int = 1
    stream: bool = False
    workers: int | None = None
    utilization: float | None = None
    crowd: float = 1.0
    cores: float | None = None
    gpu: bool = False
    own: float = 0.0
    own_error: float = 0.0
    beside: float = 0.0
    asleep: float = 0.0
    slow: Verdict | None = None
    diagnosed: bool = False
    called: float = 0.0


def valid(value: float | None) -> float | None:
    """The value if it is finite and not negative; else None."""
    return value if value is not None and math.isfinite(value) and value >= 0 else None


def clean(of: Measured) -> Measured:
    """Replace invalid metrics by None, and an invalid error by the largest."""
    error, data_error = valid(of.error), valid(of.data_error)
    return replace(
        of,
        step_s=valid(of.step_s) or None,
        data_s=valid(of.data_s),
        data_error=1.0 if data_error is None else data_error,
        transfer_s=valid(of.transfer_s),
        error=1.0 if error is None else error,
        share=valid(of.share),
        averaging_s=valid(of.averaging_s),
        utilization=valid(of.utilization),
    )


def gain_error(gain: float, doubt: float) -> float:
    """Return the error of a gain of 1 / (1 − saved).

    The larger of both sides: where much is saved, a little more makes a step much shorter.

    Args:
        gain: throughput over today's.
        doubt: error of what is saved, as a share of a step.
    """
    return gain**2 * doubt / (1 - gain * doubt) if 2 * gain * doubt < 1 else gain


def measured(
    metrics: Metrics,
    samples: Sequence[RankSample],
    size: int,
    hosts: Iterable[HostUse] = (),
    slow: Verdict | None = None,
) -> Measured:
    """Collect the metrics from which advice is derived.

    Args:
        metrics: metrics of the world.
        samples: the latest samples of its ranks.
        size: number of ranks.
        hosts: utilization of the nodes.
        slow: the verdict on a slow rank; None without one.
    """
    nodes = list(hosts)
    step, rate = valid(metrics.step_s), valid(metrics.samples_per_s)
    passes = _same([s.batches for s in samples]) or 1
    averaging = [s for sample in samples if (s := valid(sample.averaging_s))]
    return clean(
        Measured(
            ranks=size,
            step_s=step,
            data_s=metrics.data_s,
            transfer_s=metrics.transfer_s,
            error=metrics.comm_overhead_error or 0.0,
            share=metrics.comm_overhead,
            beside=own_code_share(metrics),
            # a rank that comes early waits for the others; the last one does not
            averaging_s=min(averaging) if averaging and len(averaging) == len(samples) else None,
            global_batch=metrics.global_batch * passes
            if metrics.global_batch
            else round(rate * step) or None
            if rate and step and not metrics.unsure
            else None,
            rank_batch=metrics.rank_batch,
            epoch_steps=metrics.epoch.total if metrics.epoch is not None else None,
            plain_ddp=bool(samples) and all(s.synced for s in samples),
            bound=bool(metrics.comm_bound),
            gradient_bytes=metrics.gradient_bytes,
            gradient_item=_same([s.gradient_item for s in samples]),
            hooked=_same([s.hooked for s in samples]),
            repeats=any(s.repeats for s in samples),
            batches=passes,
            stream=metrics.epoch is not None and metrics.epoch.total is None,
            workers=_same([s.loader_workers for s in samples]),
            utilization=_utilization(nodes, samples),
            crowd=max([1.0, *((valid(n.runnable) or 0.0) / n.cores for n in nodes)]),
            cores=min((n.cores for n in nodes), default=0) * len(nodes) / size or None if size else None,
            gpu=any(s.device_memory_bytes is not None for s in samples),
            slow=slow,
        )
    )


def waiting_share(of: Measured) -> float | None:
    """Return the share of a step in which ranks wait for a slower one; None if it is not known.

    Args:
        of: metrics of a loop.
    """
    if of.share is None or of.transfer_s is None or not of.step_s:
        return None
    return max(0.0, of.share - of.transfer_s / of.step_s)


def metrics_of(of: Measured) -> Metrics:
    """Return the metrics that a diagnosis without repeated steps is read from.

    Args:
        of: metrics of a loop that has ended.
    """
    step, share = of.step_s or 0.0, of.share or 0.0
    rest = step * (1 - share - of.beside) - (of.data_s or 0.0)
    return Metrics(
        step_s=of.step_s,
        data_s=of.data_s,
        compute_s=max(0.0, rest) if of.share is not None else None,
        comm_overhead=of.share,
        comm_overhead_error=of.error,
        comm_bound="lower" if of.bound else "",
        verdicts=(of.slow,) if of.slow is not None else (),
    )


def with_diagnosis(of: Measured, diagnosis: Diagnosis | None) -> Measured:
    """Replace estimated shares by those that `diagnose` measured for the same loop.

    Args:
        of: metrics of the loop.
        diagnosis: its diagnosis; None if it was not diagnosed.
    """
    step = of.step_s
    if diagnosis is None or step is None:
        return of
    check, data = diagnosis.communication, diagnosis.data
    of = replace(of, own=diagnosis.own, own_error=diagnosis.own_error, beside=0.0, diagnosed=True)
    of = replace(of, called=diagnosis.called)
    if check is not None:
        transfer = scaled(of.transfer_s, of.share, check)
        if diagnosis.waiting:
            transfer = (check.share - diagnosis.waiting) * step
        elif diagnosis.slow_rank is not None and of.transfer_s is not None:
            transfer = min(of.transfer_s, check.share * step)  # most of the estimated share is waiting
        elif diagnosis.called and transfer is not None:  # advice changes the averaging of gradients only
            transfer = min(transfer, (check.share - diagnosis.called) * step)
        of = replace(of, share=check.share, error=check.error, transfer_s=transfer, bound=False)
    if data is not None and not data.in_loop and of.data_s is not None:
        of = replace(of, data_s=data.share * step, data_error=data.error)
    return clean(of)


def on_ranks(of: Measured, ranks: int) -> Measured:
    """Return the metrics of the same loop on another number of ranks, each with the same batch.

    Args:
        of: metrics of the loop.
        ranks: number of ranks.
    """
    batch = ranks * of.rank_batch * of.batches if of.rank_batch else None
    cores = of.cores * of.ranks / ranks if of.cores else of.cores
    return replace(of, ranks=ranks, global_batch=batch, cores=cores)


def unknown(of: Measured) -> tuple[str, ...]:
    """List what advice can't judge, and why; one sentence each."""
    if of.step_s is None:
        return ("No training steps were measured yet. Train a few steps, and ask again.",)
    sentences = []
    if of.ranks > 1:
        if of.share is None:
            sentences.append("The communication time is not known, so there is no advice on communication.")
        elif of.transfer_s is None and of.share < TELLING:
            pass  # too small to be worth any change
        elif of.transfer_s is None:
            sentences.append(
                "How much of communication is waiting for slow ranks is not known, so the gain from less "
                "communication can't be estimated."
            )
        elif of.bound:
            sentences.append(
                "Some communication can't be seen (compiled code, or a communication hook), so the gain from "
                "less communication can't be estimated."
            )
        elif not of.plain_ddp:
            sentences.append(
                "Gradients are not averaged by DDP on all ranks, so the gain from fewer averages or smaller "
                "gradients can't be estimated."
            )
        elif of.repeats:
            sentences.append(
                "LBFGS computes the gradients several times in one step, so gradients of several batches "
                "can't be averaged together."
            )
        elif of.gradient_bytes is None or of.gradient_item is None:
            sentences.append("The size of the gradients is not known, so there is no advice on compression.")
    if of.data_s and of.workers is None:  # a framework without hooks has no data_s, and nothing is said
        sentences.append("Batches don't come from a torch DataLoader, so there is no advice on its workers.")
    return tuple(sentences)


def link_share(sent: int | None, step_s: float | None, size: int, link: float | None) -> float | None:
    """Share of a network's speed that averaging gradients takes.

    In a ring each rank sends 2 (n − 1) / n of the gradients, and each node passes that on.

    Args:
        sent: bytes of gradients in a step.
        step_s: time of a step, seconds.
        size: number of ranks.
        link: bytes per second of the slowest node's network.
    """
    step, speed = valid(step_s), valid(link)
    if not sent or not step or not speed or size < 2:
        return None
    return 2 * (size - 1) / size * sent / step / speed


def _utilization(hosts: Sequence[HostUse], samples: Sequence[RankSample]) -> float | None:
    """Share of the busiest node's available cores that training already uses; None if unknown."""
    shares = []
    for host in hosts:
        busy = valid(host.cpu_utilization)
        if busy is None:
            continue
        mine = host.cores * busy
        others = 0.0
        # on one node, without workers, the ranks' own processes are all that training has there
        of_ranks = [valid(s.cpu_utilization) for s in samples if s.loader_workers == 0]
        if len(hosts) == 1 and of_ranks and len(of_ranks) == len(samples) and None not in of_ranks:
            others = max(0.0, mine - sum(each or 0.0 for each in of_ranks))
            mine -= others
        # the scheduler also gives training a share of the cores that others use
        can = mine + host.cores * max(0.0, 1 - busy) + others * FAIR
        shares.append(mine / can if can else 0.0)
    return max(shares) if shares else None


def _same(values: Sequence[Any]) -> Any:
    """The value that all ranks have; None if they differ, or one is unknown."""
    return values[0] if values and all(v == values[0] for v in values) else None
