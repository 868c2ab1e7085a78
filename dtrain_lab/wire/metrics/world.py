"""Metrics of a whole world."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dtrain_lab.wire.metrics.definitions import (
    AsleepS,
    CommOverhead,
    CommOverheadError,
    ComputeS,
    DataError,
    DataS,
    GradientBytes,
    LinkShare,
    LoopMetrics,
    MemoryBytes,
    NetworkBytesPerS,
    OptimizerS,
    SamplesPerS,
    SkewS,
    Step,
    StepS,
    TokensPerS,
    TransferS,
    WaitS,
)
from dtrain_lab.wire.metrics.verdicts import Advice, Verdict
from dtrain_lab.wire.stacks import Where


class Epoch(Struct, frozen=True):
    """Progress in the epoch, in batches.

    `total` is None if the data loader has no length. `split`: a DistributedSampler gives each rank its own
    part of the data, so that an epoch has fewer batches on more ranks; False if it doesn't, or if unknown.
    """

    number: int
    done: int
    total: int | None
    split: bool = False


class Last(Struct, frozen=True):
    """The last metrics of a training loop that no longer runs: its headline, and the parts of its step.

    `step_ranks`: as of `Metrics`.
    """

    samples_per_s: SamplesPerS = None
    tokens_per_s: TokensPerS = None
    step_s: StepS = None
    comm_overhead: CommOverhead = None
    comm_overhead_error: CommOverheadError = None
    gradient_bytes: GradientBytes = None
    link_share: LinkShare = None
    comm_bound: str = ""
    rank_batch: int | None = None
    global_batch: int | None = None
    accumulated: int = 1
    epoch: Epoch | None = None
    data_s: DataS = None
    compute_s: ComputeS = None
    transfer_s: TransferS = None
    wait_s: WaitS = None
    optimizer_s: OptimizerS = None
    asleep_s: AsleepS = None
    step_ranks: tuple[int, ...] = ()


class Metrics(LoopMetrics, frozen=True):
    """Metrics of all ranks; the step is that of the median rank, parts of it are means over the ranks.

    A step is data + compute (forward, backward) + transfer and wait (communication that is not hidden by
    computation) + optimizer + the rest. `transfer_s` + `wait_s` is the share `comm_overhead` of `step_s`.
    `comm_bound`: "lower" if `comm_overhead` is a lower bound.
    `measured`: communication was measured by `diagnose` for this loop, not estimated by the monitor.
    `data_error`: None where `data_s` is the time that the monitor took, and not measured by `diagnose`.
    `step_ranks`: ranks that take these steps, which may be some of them only; empty if it is not known.
    `link_share`: with several nodes.
    `rank_batch`: samples of one batch on each rank; None if ranks differ. `global_batch`: of all ranks.
    `accumulated`: number of batches whose gradients are averaged together; the effective batch is this number
    times `global_batch`.
    `values`: the user's of `dt.log`, and their `step`. `averaged`: names of those that are means over ranks,
    the others are rank 0's; None if it is not known, as in a job of an earlier version.
    `unknown`: what `advice` can't judge, and why. `too_busy`: why estimates give no advice at all.
    `no_advice`: why there is none on the loop that trains, or trained last; empty if there is some, or
    nothing trained. `diagnosis_helps`: it asks for a diagnosis, or for another one.
    `current`: whether training is running; if not, `last` has its last metrics.
    `loop`: the cell that trains, or trained last.
    `even`: it was watched for long enough to say that all ranks keep pace.
    """

    unsure: bool = False
    epoch: Epoch | None = None
    comm_bound: str = ""
    slowest_rank: int | None = None
    skew_s: SkewS = None
    data_error: DataError = None
    gradient_bytes: GradientBytes = None
    link_share: LinkShare = None
    values: dict[str, Any] = {}
    averaged: tuple[str, ...] | None = None
    verdicts: tuple[Verdict, ...] = ()
    advice: tuple[Advice, ...] = ()
    unknown: tuple[str, ...] = ()
    too_busy: str = ""
    no_advice: str = ""
    diagnosis_helps: bool = False
    rank_batch: int | None = None
    global_batch: int | None = None
    accumulated: int = 1
    step_ranks: tuple[int, ...] = ()
    measured: bool = False
    current: bool = True
    loop: Where | None = None
    even: bool = False
    last: Last | None = None
    step: Step = None
    memory_bytes: MemoryBytes = None
    network_bytes_per_s: NetworkBytesPerS = None
