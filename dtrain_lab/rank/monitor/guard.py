"""The guard against divergence: ranks compare their next collective before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.core import mismatch
from dtrain_lab.core.estimate import ring
from dtrain_lab.rank.monitor.recorder import Recorder
from dtrain_lab.rank.monitor.signature import Signature
from dtrain_lab.training.guard import Divergence

OURS = "guard."
"""Begins the names of our groups."""
WIDTH = 4 + ring.DIMENSIONS
gather = c10d.all_gather
"""torch's own, before anybody watches it."""


class Guard:
    """Compares over a gloo group of its own for each group of the user's.

    Args:
        recorder: of the collectives.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._groups: dict[str, Any] = {}
        self.on = False
        self._counts = False

    def switch(self, on: bool) -> None:
        """Turn it on or off."""
        if on and not self._counts:
            self._counts = True
            _keep_count()
        self.on = on

    def check(self, call: Signature, group: Any) -> None:
        """Compare a collective that is about to run; called on all ranks of the group.

        Raises:
            Divergence: they differ.
        """
        if dist.get_world_size(group) == 1:
            return
        crc, number, operation, dtype, root, shape = call
        sizes = [*shape[: ring.DIMENSIONS], *[-1] * (ring.DIMENSIONS - len(shape))]
        mine = torch.tensor([operation, dtype, root, len(shape), *sizes])
        with self._recorder.collective(operation, counts=False):
            beside = self._beside(group)
            all_calls = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
            gather(all_calls, mine, group=beside)
        if all(torch.equal(theirs, mine) for theirs in all_calls):
            return
        ranks = dist.get_process_group_ranks(group)
        calls = {rank: [_call(crc, number, row.tolist())] for rank, row in zip(ranks, all_calls, strict=True)}
        found = mismatch.find(calls)
        assert found is not None
        raise Divergence(f"{found.text} Nothing was run. {found.hint}")

    def _beside(self, group: Any) -> Any:
        made = self._groups.get(group.group_name)
        if made is None or made not in c10d._world.pg_map:
            with _named(f"{OURS}{group.group_name}"):
                made = self._groups[group.group_name] = dist.new_group(
                    dist.get_process_group_ranks(group),
                    backend="gloo",
                    use_local_synchronization=True,
                    group_desc="guard",
                )
        return made


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Give the group that is made a name that all of its ranks know.

    Torch's own has the number of groups in it, which differs where ranks meet subgroups in another order.
    """
    usual = c10d._process_group_name
    c10d._process_group_name = lambda *args, **kwargs: name
    try:
        yield
    finally:
        c10d._process_group_name = usual


def _keep_count() -> None:
    """Leave our groups out of the names of those that the user makes by `use_local_synchronization`."""
    usual = c10d._hash_ranks_to_str

    def hashed(ranks: list[int]) -> str:
        names = c10d._world.pg_names
        ours = {group: name for group, name in names.items() if name.startswith(OURS)}
        for group in ours:
            del names[group]
        try:
            return str(usual(ranks))
        finally:
            names.update(ours)

    c10d._hash_ranks_to_str = hashed


def _call(group: int, number: int, row: list[int]) -> ring.Call:
    operation, dtype, root, dimensions, *sizes = row
    shape = tuple(sizes[: min(dimensions, ring.DIMENSIONS)])
    return ring.Call(group, number, ring.OPERATIONS[operation], ring.DTYPES[dtype], root, shape)
