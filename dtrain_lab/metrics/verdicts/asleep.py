"""Share of a step in which ranks sleep: they wait, but neither for data nor for another rank. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import fmean, median

from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.verdicts import Verdict

ENTER = 0.5
"""Share of a step from which the verdict appears that a loop waits for something else."""
LEAVE = 0.35
"""Share below which that verdict disappears."""
EVERY_S = 1.0
"""Minimum seconds between two measurements."""
FEWEST = 3
"""Minimum number of measurements for a verdict."""
AVERAGED_S = 8.0
"""Seconds over which the share is averaged: as long as other verdicts take to disappear."""
CAUSE = "asleep"
"""Cause of a slow rank that sleeps."""


def asleep_s(sample: RankSample) -> float | None:
    """Return the time of a step in which a rank is asleep, in seconds.

    A rank is asleep if it neither runs, nor is ready to run, nor waits in a collective or for its data
    loader, and its GPU does not compute. The time may be negative: GPU and processor may work together.

    Args:
        sample: the latest sample of the rank.

    Returns:
        None if the time is not known: some communication is not seen, the processor's use is not measured, or
        the rank has ended its cell.
    """
    step, exposed, starved = sample.step_s, sample.exposed_s, sample.starved
    if not step or exposed is None or starved is None or sample.bound or sample.idle:
        return None
    free = step - exposed - (sample.data_s or 0.0)
    if sample.on_processor:  # of the same steps; the training thread may also wait for other threads' work
        busy = max(free * sample.on_processor, step * min(1.0, sample.cpu_utilization or 0.0))
    elif sample.cpu_utilization is not None:
        busy = step * (sample.cpu_utilization + (sample.device_utilization or 0.0))
    else:
        return None
    return free - busy - step * starved


def asleep_shares(samples: Sequence[RankSample]) -> dict[int, float]:
    """Return the share of a step asleep of each rank that runs a cell; empty if it is not known of all.

    Args:
        samples: the latest sample of each rank.
    """
    shares = {}
    for sample in samples:
        if sample.idle:  # it has ended the cell, or runs none
            continue
        # without time of its thread a rank computes on a GPU, whose use must be known, too
        if not sample.on_processor and sample.device_utilization is None:
            return {}
        asleep = asleep_s(sample)
        if asleep is None or not sample.step_s:
            return {}
        shares[sample.rank] = asleep / sample.step_s
    return shares


class Asleep:
    """Decides whether a loop mostly waits for something else; callers pass the time.

    The share is averaged over time, and two thresholds keep it from flickering.
    """

    def __init__(self) -> None:
        self._shares: deque[tuple[float, dict[int, float]]] = deque()
        self._at: float | None = None
        self._steps = 0
        """Steps of all ranks at the last measurement."""
        self._mostly = False
        self.share = 0.0
        """The average share if the loop mostly waits for something else, or did when known last; else 0."""
        self._by_rank: dict[int, float] = {}
        """The average share of each rank."""

    def of_ranks(self, slow: Verdict | None) -> dict[int, float]:
        """Return the share of each rank that a verdict calls asleep: of all, or of the slow one.

        Args:
            slow: The verdict on a slow rank; None without one.
        """
        if self.share:
            return self._by_rank
        ranks = slow.ranks if slow is not None and CAUSE in str(slow.values.get("cause", "")) else ()
        return {rank: self._by_rank[rank] for rank in ranks if rank in self._by_rank}

    def of_world(self, slow: Verdict | None, count: int) -> float:
        """Return the share of the world's step: as its verdict says, or else the mean over its ranks.

        Args:
            slow: The verdict on a slow rank; None without one.
            count: Number of ranks that take steps.
        """
        return self.share or sum(self.of_ranks(slow).values()) / max(1, count)

    def forget(self) -> None:
        """Forget everything, because another loop trains."""
        self._shares.clear()
        self._at, self._steps = None, 0
        self._mostly, self.share, self._by_rank = False, 0.0, {}

    def due(self, now: float) -> bool:
        """Whether it is time for another measurement."""
        return self._at is None or now - self._at >= EVERY_S

    def update(self, samples: Sequence[RankSample], now: float, *, crowded: bool = False) -> float:
        """Add a measurement.

        Use of processors and GPUs is measured over the last second, and steps over the last steps. So it
        counts only while steps are taken: what a cell does after its loop says nothing about the loop.

        Args:
            samples: the latest sample of each rank.
            now: time of a monotonic clock, seconds.
            crowded: whether threads of a machine wait for its cores; then nothing is measured.

        Returns:
            The new value of `share`.
        """
        steps = sum(sample.step or 0 for sample in samples)
        moved = self._at is not None and steps > self._steps
        self._at, self._steps = now, steps
        shares = asleep_shares(samples)
        if crowded:
            self._shares.clear()
            self._mostly, self.share, self._by_rank = False, 0.0, {}
        if not shares or not moved or crowded:
            return self.share
        self._shares.append((now, shares))
        while self._shares[0][0] < now - AVERAGED_S:
            self._shares.popleft()
        if len(self._shares) < FEWEST and not self._mostly:  # the first may be of a time before the loop
            return self.share
        self._by_rank = {
            rank: fmean(by_rank[rank] for _, by_rank in self._shares if rank in by_rank) for rank in shares
        }
        usual = fmean(median(by_rank.values()) for _, by_rank in self._shares)
        self._mostly = usual >= (LEAVE if self._mostly else ENTER)
        self.share = min(1.0, usual) if self._mostly else 0.0
        return self.share
