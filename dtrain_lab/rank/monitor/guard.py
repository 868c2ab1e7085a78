"""The guard against divergence: ranks compare their next collective before it runs."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.core import mismatch
from dtrain_lab.core.estimate import ring
from dtrain_lab.rank.monitor.recorder import Recorder
from dtrain_lab.rank.monitor.signature import Signature
from dtrain_lab.training.guard import Divergence

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

    def switch(self, on: bool) -> None:
        """Turn it on or off."""
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
            made = self._groups[group.group_name] = dist.new_group(
                dist.get_process_group_ranks(group),
                backend="gloo",
                use_local_synchronization=True,
                group_desc="guard",
            )
        return made


def _call(group: int, number: int, row: list[int]) -> ring.Call:
    operation, dtype, root, dimensions, *sizes = row
    shape = tuple(sizes[: min(dimensions, ring.DIMENSIONS)])
    return ring.Call(group, number, ring.OPERATIONS[operation], ring.DTYPES[dtype], root, shape)
