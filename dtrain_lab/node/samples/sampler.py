"""Builds the sample that an agent sends from a rank's metrics ring."""

from __future__ import annotations

import time

from msgspec.structs import asdict

from dtrain_lab.metrics import ring
from dtrain_lab.metrics.estimates import rank_metrics, without_communication
from dtrain_lab.metrics.verdicts.device_waits import BACKWARD, reports_calls
from dtrain_lab.node.samples.devices import Use
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.world import Epoch

RECORDS = 600
LONG_BACKWARD_S = 2.0
"""Seconds; a longer backward may be blocked in DDP's own collective, so it is reported as an operation."""
HOOKED = {1: False, 2: True}


def sample(rank: int, reader: ring.Reader, use: Use) -> RankSample:
    """Sample a rank.

    Args:
        rank: Number of the rank.
        reader: Its metrics ring.
        use: Its resource use.
    """
    now = time.monotonic_ns()
    metrics = rank_metrics(reader.last(RECORDS), now, reader.in_cell)
    bound = _name(ring.BOUNDS, reader.header(ring.BOUND)) or ""
    if bound == "unknown":  # a framework whose communication has no hook: nothing is said of it
        metrics = without_communication(metrics)
        bound = ""
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
    calls = tuple(reader.calls()) if reports_calls(in_operation, beat_s) else ()
    idle = bool(reader.header(ring.IDLE))
    if idle:  # it has ended the cell: the others' numbers are compared with its last ones
        calls = tuple({call.group: call for call in calls}.values())
    return RankSample(
        rank=rank,
        step=reader.steps or None,
        **asdict(metrics),
        bound=bound,
        unsure=bool(reader.header(ring.UNSURE)),
        epoch=_epoch(reader),
        operation=operation,
        sequence=calls[-1].number
        if calls and operation != BACKWARD
        else reader.header(ring.SEQUENCE) or None,
        in_operation_s=in_operation,
        doing=operation or doing,
        beat_s=beat_s,
        idle=idle,
        stopped=use.stopped,
        throttled=use.throttled,
        calls=calls,
        calls_noted=reader.header(ring.CALLS_NOTED),
        averaged=reader.header(ring.AVERAGED),
        cpu_utilization=use.cpu,
        starved=use.starved,
        memory_bytes=use.memory_bytes,
        device_memory_bytes=use.device_memory_bytes,
        device_memory_total_bytes=use.device_memory_total_bytes,
        device_utilization=use.device_utilization,
        gradient_item=reader.header(ring.GRADIENT_ITEM) or None,
        hooked=HOOKED.get(reader.header(ring.HOOKED)),
        repeats=bool(reader.header(ring.REPEATS)),
        loader_workers=reader.header(ring.WORKERS) - 1 if reader.header(ring.WORKERS) else None,
    )


def _epoch(reader: ring.Reader) -> Epoch | None:
    number = reader.header(ring.EPOCHS)
    if not number:
        return None
    done, length = reader.header(ring.EPOCH_DONE), reader.header(ring.EPOCH_LENGTH) or None
    return Epoch(number, done, length, bool(reader.header(ring.SPLIT)))


def _name(names: tuple[str, ...], index: int) -> str | None:
    return names[index] or None if 0 <= index < len(names) else None
