"""Queues of batches that loaders have given, but training has not used yet.

A batch counts when training computes with it: loaders are read ahead (Transformers fetches all batches of a
step first, Accelerate one more than it gives), and several loaders may be read for one step.
"""

from __future__ import annotations

import weakref
from collections import deque
from itertools import count
from typing import NamedTuple

MOST = 4096
"""Most waiting batches of one iterator; beyond that they were skipped to resume an epoch, and never used."""


class Batch(NamedTuple):
    """A batch that a loader gave; `asked` is when it was requested, in ns."""

    asked: int
    samples: int
    tokens: int


class _Queue:
    """Waiting batches of one iterator of a loader."""

    def __init__(self, iterator: object) -> None:
        self.iterator = weakref.ref(iterator)
        self.batches: deque[Batch] = deque(maxlen=MOST)
        self.trains = False
        """Whether training has computed with a batch of this iterator."""


class LoaderQueues:
    """Waiting batches of all live iterators."""

    def __init__(self) -> None:
        self.queues: dict[int, _Queue] = {}
        """Queues by id of their iterators, the last read one last; empty if no loader is read."""
        self._ended = count(-1, -1)
        """Keys for queues whose iterator has ended."""

    def clear(self) -> None:
        """Drop all waiting batches."""
        self.queues.clear()

    def put(self, iterator: object, asked_at: int, samples: int, tokens: int) -> None:
        """Add a batch.

        Args:
            iterator: the loader's iterator that gave it.
            asked_at: when it was requested, ns.
            samples: samples in the batch.
            tokens: tokens in the batch.
        """
        key = id(iterator)
        queue = self.queues.pop(key, None)
        if queue is None or queue.iterator() is not iterator:
            if queue is not None:  # the queue of an ended iterator that had the same id
                self.queues[next(self._ended)] = queue
            self.queues = {k: q for k, q in self.queues.items() if q.batches}
            queue = _Queue(iterator)
        queue.batches.append(Batch(asked_at, samples, tokens))
        self.queues[key] = queue

    def take(self) -> tuple[int, int]:
        """Take the next batch of every loader; called when training computes with it.

        Returns:
            Samples and tokens; where several loaders are read for one step, those of the last loader's batch.
            0 if no batch waits.
        """
        taken = Batch(0, 0, 0)
        for queue in self.queues.values():
            if queue.batches:
                taken = queue.batches.popleft()
                queue.trains = True
        return taken.samples, taken.tokens

    def take_all(self) -> tuple[int, int]:
        """Take all batches; returns samples and tokens of those of the iterator that was read last."""
        queue = next(reversed(self.queues.values()), None)
        if queue is None:
            return 0, 0
        batches = list(queue.batches)
        for each in self.queues.values():
            if each.batches:
                each.batches.clear()
                each.trains = True
        return sum(b.samples for b in batches), sum(b.tokens for b in batches)

    def trains(self, iterator: object) -> bool:
        """Whether training has computed with a batch of an iterator."""
        queue = self.queues.get(id(iterator))
        return queue is not None and queue.trains and queue.iterator() is iterator

    def asked_between(self, first: int, end: int) -> int:
        """When training's loader was asked for a batch that still waits.

        Args:
            first: the earliest such time, ns.
            end: a time that is later than such a time, ns.

        Returns:
            The earliest such time, ns; 0 without such a batch.
        """
        waiting = (batch for queue in self.queues.values() if queue.trains for batch in queue.batches)
        return min((batch.asked for batch in waiting if first <= batch.asked < end), default=0)

    def after_others(self) -> int:
        """Start of training after a loader that was read without training; drops that loader's batches.

        Returns:
            When training's loader was first asked for a batch after the other loader, ns; else 0.
        """
        if len(self.queues) < 2:
            return 0
        queues = list(self.queues.values())
        read = [queue for queue in queues[:-1] if len(queue.batches) > 1 and not queue.trains]
        if not read:
            return 0
        last = max(queue.batches[-1].asked for queue in read)
        for queue in read:
            queue.batches.clear()
        return min((batch.asked for batch in queues[-1].batches if batch.asked > last), default=0)
