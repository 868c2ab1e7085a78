"""Turns a rank's metrics ring into the sample that travels."""

from __future__ import annotations

import time

from dtrain_lab.core.cluster import Epoch
from dtrain_lab.core.estimate import ring
from dtrain_lab.core.estimate.figures import rank_figures
from dtrain_lab.core.hangs import BACKWARD
from dtrain_lab.core.wire.links import RankSample
from dtrain_lab.node.devices import Use

RECORDS = 600
LONG_BACKWARD_S = 2.0
"""A backward that takes longer may stand in DDP's own collective; it is reported as an operation."""
SUSPICIOUS_S = 0.5
"""A rank that stands in a collective for so long tells what it called before, to be compared."""
QUIET_S = 1.0
"""… and one that has done nothing for so long, too: it may be the one that the others wait for."""


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
    in_operation = (now - since) / 1e9 if operation else None
    beat = reader.header(ring.BEAT)
    beat_s = (now - beat) / 1e9 if beat else None
    suspicious = (in_operation or 0.0) > SUSPICIOUS_S or (beat_s or 0.0) > QUIET_S
    calls = tuple(reader.calls()) if suspicious and not reader.header(ring.IDLE) else ()
    return RankSample(
        rank=rank,
        step=reader.steps or None,
        steps_per_s=figures.steps_per_s,
        samples_per_s=figures.samples_per_s,
        tokens_per_s=figures.tokens_per_s,
        step_s=figures.step_s,
        data_s=figures.data_s,
        compute_s=figures.compute_s,
        optimizer_s=figures.optimizer_s,
        exposed_s=figures.exposed_s,
        exposed_error_s=figures.error_s,
        synced=figures.synced,
        on_processor=figures.on_processor,
        typical_own_s=figures.typical_own_s,
        bound=_name(ring.BOUNDS, reader.header(ring.BOUND)) or "",
        unsure=bool(reader.header(ring.UNSURE)),
        epoch=_epoch(reader),
        operation=operation,
        sequence=calls[-1].number
        if calls and operation != BACKWARD
        else reader.header(ring.SEQUENCE) or None,
        in_operation_s=in_operation,
        doing=operation or doing,
        beat_s=beat_s,
        stopped=use.stopped,
        throttled=use.throttled,
        calls=calls,
        cpu_utilization=use.cpu,
        memory_bytes=use.memory_bytes,
        device_memory_bytes=use.device_memory_bytes,
        device_memory_total_bytes=use.device_memory_total_bytes,
        device_utilization=use.device_utilization,
    )


def _epoch(reader: ring.Reader) -> Epoch | None:
    number = reader.header(ring.EPOCHS)
    if not number:
        return None
    return Epoch(number, reader.header(ring.EPOCH_DONE), reader.header(ring.EPOCH_LENGTH) or None)


def _name(names: tuple[str, ...], index: int) -> str | None:
    return names[index] or None if 0 <= index < len(names) else None
