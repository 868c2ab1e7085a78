"""The latest sample of each rank of a world."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from dtrain_lab.wire.links import RankSample


class LatestSamples:
    """Latest samples of all ranks, and which of the ranks have ended."""

    def __init__(self) -> None:
        self._samples: dict[int, tuple[float, RankSample]] = {}
        """Rank → when its sample came (monotonic seconds), and the sample."""
        self._ended: set[int] = set()
        """Ranks that have ended and are not replaced."""

    def add(self, samples: Sequence[RankSample]) -> None:
        """Record samples that a node has just sent."""
        now = time.monotonic()
        for sample in samples:
            self._samples[sample.rank] = (now, sample)

    def forget(self, rank: int) -> None:
        """A rank's process is gone: drop its sample, which doesn't apply to the next process."""
        self._samples.pop(rank, None)
        self._ended.discard(rank)

    def ended(self, rank: int) -> None:
        """A rank has finished: keep its sample, but leave it out of the world's metrics."""
        self._ended.add(rank)

    def cell_began(self, rank: int) -> None:
        """Clear what a rank's sample says about the previous cell."""
        if rank in self._samples:
            seen, sample = self._samples[rank]
            known = replace(sample, operation=None, in_operation_s=None, doing=None, beat_s=None, calls=())
            self._samples[rank] = (seen, known)

    def last_report(self, rank: int) -> tuple[float | None, RankSample]:
        """When a rank last reported (monotonic seconds), and its latest sample."""
        return self._samples.get(rank, (None, RankSample(rank=rank)))

    def living(self) -> list[RankSample]:
        """Latest sample of each rank that has not ended; of all ranks once every one has ended."""
        every = [s for _, (_, s) in sorted(self._samples.items())]
        return [s for s in every if s.rank not in self._ended] or every
