"""Which batches a rank takes. Pure: no torch, no file.

Batches are those that one process would form, so results are the same on any number of ranks. They are cut
into chunks of neighbouring batches; in each round every rank takes one chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LARGEST_BATCH = 32
SPREAD = 64
"""Minimum number of batches of a small dataset, so that this many ranks have work."""
ROUNDS = 32
"""Minimum number of rounds if there are enough batches: a crash costs at most one round."""
CHUNK_SAMPLES = 8192
"""Maximum samples of a chunk, unless one batch has more: a chunk is written as one file."""


def usual_batch_size(samples: int) -> int:
    """Default batch size: 32, and less for fewer than 2,048 samples.

    The number of ranks does not matter: results are the same on any number of them.
    """
    return min(LARGEST_BATCH, max(1, -(-samples // SPREAD)))


@dataclass(frozen=True)
class Batches:
    """The batches that one process would form, numbered from 0."""

    samples: int
    size: int

    def __len__(self) -> int:
        return -(-self.samples // self.size)

    def span(self, batches: range) -> range:
        """Samples of neighbouring batches."""
        return range(batches.start * self.size, min(batches.stop * self.size, self.samples))

    def of(self, number: int) -> range:
        """Samples of one batch."""
        return self.span(range(number, number + 1))

    def whole(self, span: range) -> range | None:
        """Batches of a span of samples; None if it cuts one."""
        first, rest = divmod(span.start, self.size)
        batches = range(first, -(-span.stop // self.size))
        return batches if not rest and len(batches) and self.span(batches) == span else None


@dataclass(frozen=True)
class Plan:
    """Assignment of chunks: `chunks[k]` belongs to rank `k % ranks`, in round `k // ranks`."""

    batches: Batches
    ranks: int
    chunks: tuple[range, ...]

    @property
    def rounds(self) -> int:
        """Number of rounds; the last one may have no chunk for some ranks."""
        return -(-len(self.chunks) // self.ranks)

    def chunk(self, round_: int, rank: int) -> range:
        """The chunk of a rank in a round; empty if it has none.

        Args:
            round_: number of the round.
            rank: number of the rank.
        """
        number = round_ * self.ranks + rank
        return self.chunks[number] if number < len(self.chunks) else range(0)

    def mine(self, rank: int) -> list[int]:
        """All batches of a rank, in the order in which it takes them."""
        return [batch for chunk in self.chunks[rank :: self.ranks] for batch in chunk]

    def steps(self, round_: int) -> int:
        """Maximum number of batches of a rank in a round."""
        return max(len(self.chunk(round_, rank)) for rank in range(self.ranks))


def plan(batches: Batches, ranks: int, done: Iterable[range] = ()) -> Plan:
    """Divide batches among ranks.

    Args:
        batches: those of the whole dataset.
        ranks: number of ranks, 1 or more.
        done: batches that need not be computed again.
    """
    left = missing(len(batches), done)
    total = sum(map(len, left))
    most = max(1, min(total // (ROUNDS * ranks), CHUNK_SAMPLES // batches.size))
    chunks = [part[at : at + most] for part in left for at in range(0, len(part), most)]
    return Plan(batches, ranks, tuple(chunks))


def missing(total: int, done: Iterable[range]) -> list[range]:
    """The ranges of `range(total)` that are in none of `done`, in order.

    Args:
        total: number of samples.
        done: ranges of samples.
    """
    left, at = [], 0
    for span in sorted(done, key=lambda r: r.start):
        if span.start > at:
            left.append(range(at, span.start))
        at = max(at, span.stop)
    if at < total:
        left.append(range(at, total))
    return left


def in_order(spans: Sequence[range]) -> list[range]:
    """Spans by their start.

    Raises:
        ValueError: two of them overlap, or one is missing between them.
    """
    ordered = sorted(spans, key=lambda r: r.start)
    at = 0
    for span in ordered:
        if span.start != at:
            raise ValueError(f"sample {at} is missing, or there twice: the next span is {span}")
        at = span.stop
    return ordered
