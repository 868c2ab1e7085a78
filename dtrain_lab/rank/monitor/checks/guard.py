"""The guard against divergence: compares each collective across ranks before it runs."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.errors import EnvironmentUnfit
from dtrain_lab.metrics import ring
from dtrain_lab.metrics.verdicts import mismatch
from dtrain_lab.rank.monitor.signature import Signature
from dtrain_lab.rank.monitor.step.recorder import Recorder
from dtrain_lab.rank.torch import groups, names
from dtrain_lab.training.guard import Divergence
from dtrain_lab.wire.metrics.collective import CollectiveCall

OURS = "guard."
"""Prefix of the names of the guard's groups."""
WIDTH = 4 + ring.DIMENSIONS
gather = c10d.all_gather
"""torch's own function, from before the monitor wraps it."""


class Guard:
    """Compares collectives, over one extra gloo group for each of the user's groups.

    Args:
        recorder: counts the time of the comparisons.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._groups: dict[str, Any] = {}
        self.on = False
        self._counts = False

    def switch(self, on: bool) -> None:
        """Turn the guard on or off.

        Raises:
            EnvironmentUnfit: this torch lacks what the guard needs.
        """
        if on and not names.has(names.GUARD):
            raise EnvironmentUnfit(names.GUARD.without, "Use another version of PyTorch, or no guard.")
        if on and not self._counts:
            self._counts = True
            groups.leave_out_of_names(OURS)
        self.on = on

    def check(self, call: Signature, group: Any) -> None:
        """Compare a collective that is about to run; a collective over the group.

        Args:
            call: signature of this rank's collective.
            group: the process group that it runs in.

        Raises:
            Divergence: the ranks' collectives differ.
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
        difference = mismatch.find(calls)
        assert difference is not None
        raise Divergence(f"{difference.text} Nothing was run. {difference.hint}")

    def _beside(self, group: Any) -> Any:
        beside = self._groups.get(group.group_name)
        if beside is None or not groups.is_live(beside):
            with groups.named(f"{OURS}{group.group_name}"):
                beside = self._groups[group.group_name] = dist.new_group(
                    dist.get_process_group_ranks(group),
                    backend="gloo",
                    use_local_synchronization=True,
                    group_desc="guard",
                )
        return beside


def _call(group: int, number: int, row: list[int]) -> CollectiveCall:
    operation, dtype, root, dimensions, *sizes = row
    shape = tuple(sizes[: min(dimensions, ring.DIMENSIONS)])
    return CollectiveCall(group, number, ring.OPERATIONS[operation], ring.DTYPES[dtype], root, shape)
