"""Samples of ranks, some of which have ended."""

from __future__ import annotations

from dtrain_lab.head.metrics.latest_samples import LatestSamples
from dtrain_lab.wire.links import RankSample

compared: list[int] = []


class Compared(RankSample, frozen=True):
    """A sample that notes each comparison with another one."""

    def __eq__(self, other: object) -> bool:
        compared.append(self.rank)
        return self is other


def test_ranks_are_found_by_their_numbers() -> None:
    """Found by a review: each sample was compared with all others, several times a second."""
    samples = LatestSamples()
    samples.add([Compared(rank=rank, step=5) for rank in range(40)])
    samples.add([Compared(rank=40, step=4), Compared(rank=41, step=6), Compared(rank=42, step=6)])
    for rank, failed in ((40, False), (41, False), (42, True)):
        samples.ended(rank, failed=failed)
    compared.clear()
    # 40 has taken fewer steps, 42 was lost
    assert [sample.rank for sample in samples.of_steps()] == [*range(40), 41]
    assert compared == []
