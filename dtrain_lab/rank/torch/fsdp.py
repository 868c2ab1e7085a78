"""Finds live FSDP2 models, and resets them after the process group was replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.distributed.fsdp import FSDPModule

from dtrain_lab.rank.torch import names


def roots() -> list[Any]:
    """Live FSDP2 root models. `fully_shard` swaps a module's class, so no constructor can be hooked."""
    if names.has(names.SHARDED):
        modules = list(names.find(names.SHARDED.names[0]).keys())
        return [m for m in modules if isinstance(m, FSDPModule) and m._get_fsdp_state()._is_root]
    return _outermost()


def group_of(parameters: Sequence[Any]) -> Any:
    """The ranks over which FSDP2 averages gradients of these parameters.

    Returns:
        None if none of them belongs to a sharded model, or its mesh has several dimensions: ranks of one
        of them may share data on purpose.
    """
    mine = {id(p) for p in parameters}
    for root in roots():
        of_root = [p for p in root.parameters() if id(p) in mine]
        mesh = getattr(of_root[0], "device_mesh", None) if of_root else None
        if mesh is not None:
            return mesh.get_group() if mesh.ndim == 1 else None
    return None


def reset(module: Any) -> bool:
    """Clear the state that an interrupted step has left in a model.

    Returns:
        False if this torch lacks what is needed: the model has to be made again.
    """
    if not names.has(names.SHARDED):
        return False
    module.reset_iter_state()
    return True


def _outermost() -> list[Any]:
    """Root models without torch's own list: sharded modules that no other sharded module contains."""
    import gc

    if not FSDPModule.__subclasses__():  # `fully_shard` creates them; a scan of all objects takes 0.1 s
        return []
    # type(), not isinstance, which asks lazy objects for their class and so loads modules
    sharded = [o for o in gc.get_objects() if issubclass(type(o), FSDPModule)]
    inner = {id(part) for module in sharded for part in module.modules() if part is not module}
    return [module for module in sharded if id(module) not in inner]
