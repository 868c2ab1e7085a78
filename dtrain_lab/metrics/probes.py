"""Estimates communication from probes (backward passes whose averaging was deferred on purpose). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from dtrain_lab.metrics import ring
from dtrain_lab.metrics.ring import StepRecord

PROBES = 24
"""Number of last probes that count."""
NEIGHBOURS = 32
"""Steps before and after a probe with which it is compared: enough that the probes' own noise dominates."""
LEAST_AROUND = 4
DRIFT = 0.15
"""Share by which a backward's time must have changed; medians over a second differ by less by chance."""
MAD = 1.4826
"""Median absolute deviation → standard deviation of a normal distribution."""


class Probe(NamedTuple):
    """A probed step, and the medians of the usual synced steps around it; nanoseconds."""

    alone: float
    """Backward of the probed step, without any communication."""
    backward: float
    forward: float


def probes(records: Sequence[StepRecord]) -> list[Probe]:
    """The last probes of a rank, at most `PROBES`.

    Args:
        records: records of one rank, oldest first, without steps that contain a pause.
    """
    measured = []
    for index, probe in enumerate(records):
        if not probe.flags & ring.PROBED or not probe.backward:
            continue
        around = [
            r
            for r in records[max(0, index - NEIGHBOURS) : index + NEIGHBOURS + 1]
            if r.flags & ring.SYNCED and not r.flags & ring.PROBED
        ]
        if len(around) >= LEAST_AROUND:
            backward, forward = median(r.backward for r in around), median(r.forward for r in around)
            measured.append(Probe(probe.backward, backward, forward))
    return measured[-PROBES:]


def longer_backward(
    measured: Sequence[Probe], synced: Sequence[StepRecord]
) -> tuple[float | None, float | None]:
    """The time that communication adds to a backward, from probes.

    A probed step averages gradients after its backward, which therefore only computes. In the steps around it
    backward takes longer: tail + δ = backward − backward alone, the median over the last probes. The other
    parts of a step are left out, because their noise would double that of the metric (`docs/metrics.md`).

    Probes are rare. If backward has changed since the probes by more than `DRIFT`, the last steps' backward
    is used, minus the time that it would take alone now: that of the probes, scaled by the ratio by which
    forward, which sends nothing, has become slower. So a slower network shows at once and isn't mistaken for
    slow computation, and a slower processor isn't mistaken for communication.

    Args:
        measured: the last probes.
        synced: the last synced steps, without probed ones.

    Returns:
        The time and its standard error, in seconds. Both are None without probes; the error also with a
        single one.
    """
    if not measured:
        return None, None
    middle = median(probe.backward - probe.alone for probe in measured)
    spread = MAD * median(abs(probe.backward - probe.alone - middle) for probe in measured)
    error = spread / 1e9 / len(measured) ** 0.5 if len(measured) > 1 else None
    if len(synced) >= LEAST_AROUND:
        now, then = median(r.backward for r in synced), median(probe.backward for probe in measured)
        if abs(now - then) > DRIFT * then:
            forward = median(r.forward for r in synced)
            slowed = [p.alone * (forward / p.forward if p.forward else 1.0) for p in measured]
            middle = max(0.0, now - median(slowed))
    return middle / 1e9, error
