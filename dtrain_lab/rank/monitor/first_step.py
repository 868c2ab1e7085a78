"""Compares the parameters of a DDP model between ranks once the first step of a cell has ended.

DDP gives all ranks the same gradients, so parameters that differ then have differed before: a checkpoint that
only rank 0 has loaded, or parameters that were set after the model was wrapped. No collective is called: each
rank writes checksums to the rendezvous store, and the last one compares.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

NEAR = 1e-5
"""Relative difference of two checksums from which parameters differ: devices round in their own ways."""
NAMED, MOST = 3, 20_000
LEAVES_S = 5.0
log = logging.getLogger("dtrain_lab.rank")


class FirstStep:
    """Of one rank.

    Args:
        say: prints a note for the user.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._store: Any = None
        self._cell, self._ranks = "", 0
        self._over = True

    def begin_cell(self, cell: str, ranks: int, store: Any) -> None:
        """Called when a cell begins.

        Args:
            cell: id of the cell, the same on all ranks.
            ranks: number of ranks that run it.
            store: the ranks' rendezvous store.
        """
        self._cell, self._ranks, self._store = cell, ranks, store
        self._over = ranks < 2 or store is None

    def stepped(self, model: Any) -> None:
        """Called when a step of a DDP model with averaged gradients has ended."""
        if self._over or model is None:
            return
        self._over = True
        names = [name for name, p in model.module.named_parameters() if p.requires_grad][:MOST]
        mine = [_checksum(p) for p in model.parameters() if p.requires_grad][:MOST]
        try:
            found = self._of_all(mine)
        except RuntimeError as error:  # the rank that keeps the store has ended
            log.info("parameters not compared with the other ranks: %s", error)
            return
        differ = different(names, found)
        if differ:
            more = f" and {len(differ) - NAMED} more" if len(differ) > NAMED else ""
            self._say(
                f"parameters differ between ranks after the first step ({', '.join(differ[:NAMED])}{more}), "
                "though gradients are averaged: the ranks began with different ones. Load checkpoints on all "
                "ranks, before the model is wrapped in DDP."
            )

    def _of_all(self, mine: list[float]) -> list[list[float]]:
        """The checksums of all ranks, on the rank that comes last; nothing on the others."""
        key = f"dtrain/first/{self._cell}"
        number = self._store.add(f"{key}/count", 1)
        self._store.set(f"{key}/{number}", json.dumps(mine))
        if number != self._ranks:
            return []
        keys = [f"{key}/{n}" for n in range(1, number + 1)]
        self._store.wait(keys, timedelta(seconds=LEAVES_S))
        return [json.loads(self._store.get(each)) for each in keys]


def different(names: list[str], found: list[list[float]]) -> list[str]:
    """Names of parameters whose checksums differ; none where the ranks train different models."""
    if any(len(each) != len(names) for each in found):
        return []
    return [
        name
        for name, values in zip(names, zip(*found, strict=True), strict=False)
        if max(values) - min(values) > NEAR * max(abs(v) for v in values)
    ]


def _checksum(parameter: Any) -> float:
    values = parameter.detach().double()
    return float(values.sum()) + float(values.abs().sum()) / 3
