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
        self._failed: set[int] = set()
        """Those of them that were lost."""

    def add(self, samples: Sequence[RankSample]) -> None:
        """Record samples that a node has just sent."""
        now = time.monotonic()
        for sample in samples:
            self._samples[sample.rank] = (now, sample)

    def forget(self, rank: int) -> None:
        """A rank's process is gone: drop its sample, which doesn't apply to the next process."""
        self._samples.pop(rank, None)
        self._ended.discard(rank)
        self._failed.discard(rank)

    def ended(self, rank: int, *, failed: bool) -> None:
        """A rank has ended: keep its sample, but expect no other one.

        Args:
            rank: The rank.
            failed: Whether it was lost.
        """
        self._ended.add(rank)
        if failed:
            self._failed.add(rank)

    def cell_began(self, rank: int) -> None:
        """Clear what a rank's sample says about the previous cell."""
        if rank in self._samples:
            at, sample = self._samples[rank]
            cleared = replace(sample, operation=None, in_operation_s=None, doing=None, beat_s=None, calls=())
            self._samples[rank] = (at, cleared)

    def last_report(self, rank: int) -> tuple[float | None, RankSample]:
        """When a rank last reported (monotonic seconds), and its latest sample."""
        return self._samples.get(rank, (None, RankSample(rank=rank)))

    def living(self) -> list[RankSample]:
        """Latest sample of each rank that has not ended; of all ranks once every one has ended."""
        every = [s for _, (_, s) in sorted(self._samples.items())]
        return [s for s in every if s.rank not in self._ended] or every

    def of_steps(self) -> list[RankSample]:
        """As `living`, with ranks that have ended well after as many steps as the others have taken.

        Ranks don't end at once: until the last one has, its steps alone are a part of the throughput.
        """
        living = {s.rank: s for s in self.living()}
        most = max((s.step or 0 for s in living.values()), default=0)
        done = self._ended - self._failed
        every = [s for _, (_, s) in sorted(self._samples.items())]
        return [s for s in every if s.rank in living or (s.rank in done and (s.step or 0) >= most)]
