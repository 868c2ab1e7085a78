"""A world of another size: what a live rank keeps of its objects, and what it can't.

The size of a process group is fixed in C++, so live groups can't be given a new back-end as in a re-point:
the default group is made anew. DDP models over it are given the new one. Subgroups, and what is sharded
over ranks, can't follow, and are named.
"""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d
from torch.utils.data import DistributedSampler

from dtrain_lab.core.wire.links import Form
from dtrain_lab.rank.models import fsdp_roots, reset_ddp

if TYPE_CHECKING:
    from dtrain_lab.rank.group import Group


def resize(group: Group, store: dist.Store, order: Form) -> tuple[str, ...]:
    """Leave the old world and join the new one; a collective over all of its ranks.

    Args:
        group: of this rank.
        store: of the new generation.
        order: says the new size.

    Returns:
        Names of live objects that could not come along.
    """
    left: list[str] = []
    over_world: list[Any] = []
    if dist.is_initialized():
        world = c10d._get_default_group()
        names = [n for pg, n in c10d._world.pg_names.items() if pg is not world]
        left += [f"process group {name}" for name in names]
        for module in group.models:
            if module.process_group is world:
                over_world.append(module)
            else:
                left.append(f"{type(module.module).__name__} in DDP over a subgroup")
        dist.destroy_process_group()
    left += [f"{type(module).__name__}, sharded by FSDP2" for module in fsdp_roots()]
    group.size = order.size
    os.environ.update(WORLD_SIZE=str(order.size), LOCAL_WORLD_SIZE=str(order.local_size))
    group.init(store)
    for module in over_world:
        module.process_group = dist.group.WORLD
        reset_ddp(module)
    _resize_samplers(order.size)
    return tuple(left)


def _resize_samplers(size: int) -> None:
    """Distributed samplers divide their data by the new size; see `DistributedSampler.__init__`."""
    for sampler in [o for o in gc.get_objects() if type(o) is DistributedSampler]:
        sampler.num_replicas = size
        count = len(sampler.dataset)
        if sampler.drop_last and count % size:
            sampler.num_samples = (count - size) // size + (1 if (count - size) % size else 0)
        else:
            sampler.num_samples = -(-count // size)
        sampler.total_size = sampler.num_samples * size
