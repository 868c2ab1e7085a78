"""Means over ranks for `dt.log`, through the process group's store and not in a collective.

Each rank writes its values to the store and continues. A thread of rank 0 records the mean once all ranks
have written theirs, or, after a while, the mean of those that have. So ranks that log different steps, or one
that never logs, can't hold up training.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from dtrain_lab.text import rank_names
from dtrain_lab.training import ranks

PATIENCE_S = 10.0
"""Maximum time for which rank 0 waits for the other ranks' values of a step."""
LAST_S = 2.0
"""Maximum time for which rank 0 waits for them at the end of the process."""
SETTLE_S = 0.3
"""Maximum time for which it waits at the end of a cell, whose last values the next cell may need."""
POLL_S = 0.02
Record = Callable[[int, dict[str, float], float], None]


class Means:
    """Writes the values of this rank to the store; on rank 0, also collects those of all ranks.

    Args:
        store: of the process group.
        rank: number of this rank.
        size: number of ranks.
        record: gets the means, on rank 0.
        cell: id and rendezvous store of the running cell; None outside cells. Values are combined with those
            of the same cell only: an interrupted cell has made different numbers of calls on the ranks.
    """

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int,
        record: Record,
        cell: Callable[[], tuple[str, Any]] = lambda: ("", None),
    ) -> None:
        self._store, self._rank, self._size, self._record = store, rank, size, record
        self._cell = cell
        self._called = ""
        """Cell of the calls that are counted."""
        self._calls: dict[int, int] = {}
        self._waiting: queue.SimpleQueue[tuple[str, Any, int, int, float]] = queue.SimpleQueue()
        self._closing = 0.0
        self._handed_in = self._recorded = 0
        if rank == 0:
            threading.Thread(target=self._collect, name="dt.log averages", daemon=True).start()
            atexit.register(self.finish)

    def put(self, step: int, values: dict[str, float]) -> None:
        """Write this rank's values of a step; returns at once.

        Args:
            step: number of the step.
            values: name → value.
        """
        cell, store = self._cell()
        if store is None:
            store = self._store
        if cell != self._called:
            self._called = cell
            self._calls.clear()
        call = self._calls[step] = self._calls.get(step, -1) + 1
        store.set(f"{_key(cell, step, call)}/{self._rank}", json.dumps(values))
        if self._rank == 0:
            self._handed_in += 1
            self._waiting.put((cell, store, step, call, time.time()))

    def finish(self) -> None:
        """Record the remaining values, after a short wait for other ranks."""
        self._closing = time.monotonic() + LAST_S
        self.settle(LAST_S + 1)

    def settle(self, within_s: float = SETTLE_S) -> None:
        """Wait until the written values are recorded.

        Args:
            within_s: maximum time to wait, seconds.
        """
        until = time.monotonic() + within_s
        while self._recorded < self._handed_in and time.monotonic() < until:
            time.sleep(POLL_S)

    def _collect(self) -> None:
        while True:
            handed_in = self._waiting.get()
            try:
                self._one(*handed_in)
            except (RuntimeError, ConnectionError) as error:  # the store has ended, or the world is rebuilt
                ranks.say(f"dt.log: values of other ranks can't be read any more: {error}")
            except Exception as error:  # noqa: BLE001 # reported; the next step's values are still collected
                ranks.say(
                    f"dt.log: the mean of step {handed_in[2]} is missing: {type(error).__name__}: {error}"
                )
            self._recorded += 1

    def _one(self, cell: str, store: Any, step: int, call: int, at: float) -> None:
        keys = [f"{_key(cell, step, call)}/{rank}" for rank in range(self._size)]
        until = time.monotonic() + PATIENCE_S
        while not store.check(keys):
            # once another cell runs, no more values of this one arrive
            if time.monotonic() > min(until, self._closing or until) or self._cell()[0] != cell:
                break
            time.sleep(POLL_S)
        there = [rank for rank in range(self._size) if store.check([keys[rank]])]
        if len(there) < self._size:
            missing = rank_names.name(rank for rank in range(self._size) if rank not in there)
            ranks.say(f"dt.log: {missing} did not log step {step}: the mean of the other ranks is recorded.")
        by_rank = [json.loads(store.get(keys[rank])) for rank in there]
        self._record(step, means(by_rank), at)
        for rank in there:
            store.delete_key(keys[rank])


def _key(cell: str, step: int, call: int) -> str:
    return f"dtrain/log/{cell}/{step}/{call}"


def means(by_rank: list[dict[str, float]]) -> dict[str, float]:
    """Mean of each value over the ranks that logged it."""
    names = list(dict.fromkeys(name for values in by_rank for name in values))
    numbers_of = {name: [values[name] for values in by_rank if name in values] for name in names}
    return {name: sum(numbers) / len(numbers) for name, numbers in numbers_of.items()}


def store_of_group() -> Any:
    """The store of the default process group; None if this torch or the launcher has none to give."""
    import torch.distributed as dist

    group = dist.group.WORLD
    give = getattr(group, "get_group_store", None)
    if give is not None:
        return give()
    # torch < 2.9; a cluster's ranks have no TCPStore that could be opened below
    older = getattr(dist.distributed_c10d, "_get_default_store", None)
    if older is not None and group is not None:
        return older()
    if "MASTER_ADDR" in os.environ and os.environ.get("MASTER_PORT", "").isdigit():
        return dist.TCPStore(
            os.environ["MASTER_ADDR"],
            int(os.environ["MASTER_PORT"]),
            is_master=False,
            wait_for_workers=False,
        )
    return None
