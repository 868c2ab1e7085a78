"""Ranks meet in the rendezvous store instead of a collective: a rank that does not come is named.

A collective that only some ranks call meets another rank's collective of another size, on which gloo ends the
process. In the store, each rank writes its own values and reads those of the others.
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dtrain_lab.text import rank_names
from dtrain_lab.training import averages, ranks

TOLD_S = 10.0
"""Time after which a waiting rank reports for which ranks it waits, seconds."""
PATIENCE_S = 120.0
"""Maximum wait for the other ranks, seconds; they may still be preparing data."""
POLL_S, SELDOM_S = 0.01, 0.2
"""Polling intervals, in the first second and later, seconds."""
_LEFT = "left"
_cell: list[tuple[str, Any]] = []
"""Id and store of the cell that runs; empty in a script."""
_calls: Counter[tuple[str, int]] = Counter()


class Absent(Exception):
    """Some ranks did not come, or have left.

    Args:
        ranks: their numbers.
        reasons: messages of the ranks that have left; empty if they did not come.
    """

    def __init__(self, ranks: list[int], reasons: list[str]) -> None:
        super().__init__(ranks, reasons)
        self.ranks = ranks
        self.reasons = reasons

    @property
    def names(self) -> str:
        """The ranks as text: "rank 1", "ranks 1, 3–4"."""
        return rank_names.name(self.ranks)


def begin_cell(cell: str, store: Any) -> None:
    """Called when a cell starts: it meets only the same cell on other ranks.

    Args:
        cell: id of the cell, the same on all ranks.
        store: the ranks' rendezvous store; None without one.
    """
    _cell[:] = [(cell, store)]
    _calls.clear()


def cell() -> tuple[str, Any]:
    """Id of the cell that runs, and the ranks' rendezvous store or None; "" and None in a script."""
    return _cell[0] if _cell else ("", None)


def meet(topic: str, members: Sequence[int], brought: Any) -> dict[int, Any] | None:
    """Wait until all members have reached their n-th meeting of a topic; not a collective of torch.

    Args:
        topic: purpose of the exchange, as text for the user.
        members: the ranks that come, this one among them.
        brought: this rank's part; JSON.

    Returns:
        Each member's part; None without a store.

    Raises:
        Absent: a member has not come within the time, or has left.
    """
    store, key = _place(topic, members)
    if store is None:
        return None
    me = ranks.rank()
    keys = {rank: f"{key}/{rank}" for rank in members}
    store.set(keys[me], json.dumps({"brought": brought}))
    try:
        _wait(topic, store, keys)
    except BaseException:
        store.set(keys[me], json.dumps({_LEFT: f"rank {me} has waited for the others and given up"}))
        raise
    by_rank = {rank: json.loads(store.get(name)) for rank, name in keys.items()}
    gone = {rank: each[_LEFT] for rank, each in by_rank.items() if _LEFT in each}
    if gone:
        raise Absent(list(gone), list(gone.values()))
    return {rank: each["brought"] for rank, each in by_rank.items()}


def stay_away(topic: str, members: Sequence[int], reason: str) -> None:
    """Tell the other members that this rank skips its n-th meeting of a topic; does not wait.

    Args:
        topic: as in `meet`.
        members: as in `meet`.
        reason: why, as text for the user.
    """
    store, key = _place(topic, members)
    if store is not None:
        store.set(f"{key}/{ranks.rank()}", json.dumps({_LEFT: reason}))


def _place(topic: str, members: Sequence[int]) -> tuple[Any, str]:
    cell, store = _cell[0] if _cell else ("", averages.store_of_group())
    who = zlib.crc32(repr(sorted(members)).encode())
    _calls[topic, who] += 1
    return store, f"dtrain/meet/{cell}/{topic}/{who}/{_calls[topic, who]}"


def _wait(topic: str, store: Any, keys: dict[int, str]) -> None:
    began, reported = time.monotonic(), False
    while not store.check(list(keys.values())):
        waited = time.monotonic() - began
        if waited > TOLD_S or waited > PATIENCE_S:
            absent = Absent([rank for rank, name in keys.items() if not store.check([name])], [])
            if waited > PATIENCE_S and absent.ranks:
                raise absent
            if not reported and absent.ranks:
                reported = True
                print(f"dtrain-lab: {topic}: this rank waits for {absent.names}.", file=sys.stderr)
        time.sleep(POLL_S if waited < 1 else SELDOM_S)
