"""How much of a step ranks are asleep: what they wait for is neither data nor another rank. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import fmean, median

from dtrain_lab.wire.links import RankSample

ENTER = 0.5
"""Share of a step asleep from which a loop is said to wait for something else …"""
LEAVE = 0.35
"""… and below which it no longer is."""
AVERAGED_S = 8.0
"""Seconds over which the share is averaged: as long as other verdicts take to leave."""


def asleep_s(sample: RankSample) -> float | None:
    """Return the time of a step in which a rank is asleep, in seconds.

    Then it neither runs, nor is ready to run, nor waits in a collective or for its data loader, nor does its
    GPU compute. The time may be negative: GPU and processor may work at the same time.

    Args:
        sample: the latest sample of the rank.

    Returns:
        None if it is not known: some communication is not seen, nobody measures what the processor does, or
        the sample is of a rank that has ended its cell.
    """
    step, exposed, starved = sample.step_s, sample.exposed_s, sample.starved
    if not step or exposed is None or starved is None or sample.bound or sample.idle:
        return None
    free = step - exposed - (sample.data_s or 0.0)
    if sample.on_processor:  # of the same steps, and of the training thread alone
        busy = free * sample.on_processor
    elif sample.cpu_utilization is not None:
        busy = step * (sample.cpu_utilization + (sample.device_utilization or 0.0))
    else:
        return None
    return free - busy - step * starved


def asleep_share(samples: Sequence[RankSample]) -> float | None:
    """Return the share of a step in which the median rank is asleep; None if it is not known.

    Args:
        samples: the latest sample of each rank.
    """
    shares = []
    for sample in samples:
        # without time of its thread a rank computes on a GPU, whose use must be known, too
        if not sample.on_processor and sample.device_utilization is None:
            return None
        asleep = asleep_s(sample)
        if asleep is None or not sample.step_s:
            return None
        shares.append(asleep / sample.step_s)
    return median(shares) if shares else None


class Asleep:
    """Decides whether a loop mostly waits for something else; callers pass the time.

    The share is averaged over time, and two thresholds keep it from flickering.
    """

    def __init__(self) -> None:
        self._shares: deque[tuple[float, float]] = deque()
        self._mostly = False
        self.share = 0.0
        """The average share if the loop mostly waits for something else, or did when known last; else 0."""

    def forget(self) -> None:
        """Forget everything, because another loop trains."""
        self._shares.clear()
        self._mostly, self.share = False, 0.0

    def update(self, share: float | None, now: float) -> float:
        """Add a measurement.

        Args:
            share: share of a step asleep; None if it is not known.
            now: time of a monotonic clock, seconds.

        Returns:
            The new value of `share`.
        """
        if share is None:
            return self.share
        self._shares.append((now, share))
        while self._shares[0][0] < now - AVERAGED_S:
            self._shares.popleft()
        usual = fmean(share for _, share in self._shares)
        self._mostly = usual >= (LEAVE if self._mostly else ENTER)
        self.share = min(1.0, usual) if self._mostly else 0.0
        return self.share
