"""Variables that each rank's cells have: `rank`, `local_rank`, `world_size`, `device`."""

from __future__ import annotations

from typing import Any

from dtrain_lab.placement.devices import device_name
from dtrain_lab.rank import setup
from dtrain_lab.wire import links
from dtrain_lab.wire.links import RankSpec


def define(shell: Any, spec: RankSpec) -> None:
    """Give the user's namespace the variables; they aren't listed as the user's own.

    Args:
        shell: The kernel's shell.
        spec: Settings of this rank.
    """
    import torch

    names = {
        "rank": spec.rank,
        "local_rank": spec.local_rank,
        "world_size": spec.world_size,
        "device": torch.device(device_name(spec.local_rank, spec.gpus)),
    }
    shell.user_ns.update(names)
    shell.user_ns_hidden.update(names)


def resized(shell: Any, spec: RankSpec, order: links.FormGroup) -> None:
    """Follow a new size of the world: `world_size`, and the threads of a rank unless the user set them.

    Args:
        shell: The kernel's shell.
        spec: Settings of this rank.
        order: The group that was formed.
    """
    names = shell.user_ns_hidden
    if names["world_size"] == order.size:
        return
    names["world_size"] = shell.user_ns["world_size"] = order.size
    if setup.CHOSEN_THREADS not in spec.variables:
        setup.set_threads(spec.variables, order.threads)
