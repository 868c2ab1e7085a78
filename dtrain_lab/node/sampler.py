"""Turns a rank's metrics ring into the sample that travels."""

from __future__ import annotations

import time

from dtrain_lab.core.estimate import ring
from dtrain_lab.core.estimate.figures import rank_figures
from dtrain_lab.core.hangs import BACKWARD
from dtrain_lab.core.wire.links import RankSample
from dtrain_lab.node.devices import Use

RECORDS = 400
LONG_BACKWARD_S = 2.0
"""A backward that takes longer may stand in DDP's own collective; it is reported as an operation."""


def sample(rank: int, reader: ring.Reader, use: Use) -> RankSample:
    """What a rank did lately."""
    now = time.monotonic_ns()
    figures = rank_figures(reader.last(RECORDS), now)
    operation = _name(ring.OPERATIONS, reader.header(ring.OPERATION))
    doing = _name(ring.DOINGS, reader.header(ring.DOING))
    since = reader.header(ring.ENTERED)
    if operation is None and doing == BACKWARD:
        began = reader.header(ring.DOING_SINCE)
        if now - began > LONG_BACKWARD_S * 1e9:
            operation, since = BACKWARD, began
    return RankSample(
        rank=rank,
        step=reader.steps or None,
        steps_per_s=figures.steps_per_s,
        samples_per_s=figures.samples_per_s,
        step_s=figures.step_s,
        data_s=figures.data_s,
        exposed_s=figures.exposed_s,
        unsure=bool(reader.header(ring.UNSURE)),
        operation=operation,
        sequence=reader.header(ring.SEQUENCE) or None,
        in_operation_s=(now - since) / 1e9 if operation else None,
        doing=operation or doing,
        cpu_utilization=use.cpu,
        memory_bytes=use.memory_bytes,
        device_memory_bytes=use.device_memory_bytes,
        device_memory_total_bytes=use.device_memory_total_bytes,
        device_utilization=use.device_utilization,
    )


def _name(names: tuple[str, ...], index: int) -> str | None:
    return names[index] or None if 0 <= index < len(names) else None
