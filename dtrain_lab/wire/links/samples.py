"""Periodic measurements of a node and its ranks."""

from __future__ import annotations

from dtrain_lab.wire.codec.encode import encode as encode
from dtrain_lab.wire.links.base import Message
from dtrain_lab.wire.metrics.collective import CollectiveCall
from dtrain_lab.wire.metrics.definitions import (
    AveragingS,
    CpuUtilization,
    DeviceMemoryBytes,
    DeviceMemoryTotalBytes,
    DeviceUtilization,
    ExposedErrorS,
    ExposedS,
    GradientBytes,
    ProcessMemoryBytes,
    Step,
    StepMetrics,
    StepsPerS,
    TypicalOwnS,
)
from dtrain_lab.wire.metrics.world import Epoch
from dtrain_lab.wire.node_use import HostUse


class RankMetrics(StepMetrics, frozen=True, omit_defaults=True):
    """Metrics of a rank over the window; times in seconds per step, None after too few steps.

    `exposed_error_s` is None if the error wasn't measured. `on_processor` is the share of the computing time
    in which the training thread ran. `batches`: the passes whose gradients are averaged in a step, `batch`
    the samples of a pass.
    """

    steps_per_s: StepsPerS = None
    exposed_s: ExposedS = None
    exposed_error_s: ExposedErrorS = None
    synced: bool = False
    on_processor: float = 0.0
    typical_own_s: TypicalOwnS = None
    averaging_s: AveragingS = None
    gradient_bytes: GradientBytes = None
    batches: int = 1
    batch: int | None = None


class RankSample(RankMetrics, frozen=True, omit_defaults=True, kw_only=True):
    """Recent measurements of one rank, taken on its node. Units are seconds and bytes; shares are 0 to 1."""

    rank: int
    step: Step = None
    bound: str = ""
    unsure: bool = False
    epoch: Epoch | None = None
    operation: str | None = None
    sequence: int | None = None
    in_operation_s: float | None = None
    doing: str | None = None
    beat_s: float | None = None
    """Seconds since the monitor last saw any activity of this rank."""
    idle: bool = False
    """It has ended its last cell, and has not begun another."""
    stopped: bool = False
    """A signal has stopped the process."""
    throttled: str = ""
    """Why its GPU is slowed down."""
    calls: tuple[CollectiveCall, ...] = ()
    """Its last collectives in this cell, or in the last one; only sent while it is in one, or inactive."""
    calls_noted: int = 0
    """Collectives of the same cell; `calls` has the last of them."""
    averaged: int = 0
    """Backward passes of the same cell, begun or ended, in which gradients are averaged over all ranks."""
    cpu_utilization: CpuUtilization = None
    starved: float | None = None
    """Share of the time in which its main thread was ready to run and had no core."""
    memory_bytes: ProcessMemoryBytes = None
    device_memory_bytes: DeviceMemoryBytes = None
    device_memory_total_bytes: DeviceMemoryTotalBytes = None
    device_utilization: DeviceUtilization = None
    gradient_item: int | None = None
    """Bytes of one element of the gradients."""
    hooked: bool | None = None
    """Whether the DDP model has a communication hook."""
    repeats: bool = False
    """Whether an optimizer computes the gradients several times in one step, as LBFGS does."""
    loader_workers: int | None = None
    """Worker processes of the data loader."""


class Samples(Message, frozen=True, tag="samples"):
    """A node's measurements of one interval."""

    node: int
    samples: tuple[RankSample, ...]
    host: HostUse | None = None
