"""Live models that hold on to a process group, and their state after it was replaced."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist
from torch.distributed._composable_state import _module_state_mapping
from torch.distributed.fsdp import FSDPModule


def reset_ddp(module: Any) -> None:
    """As right after construction: a fresh reducer with the first buckets, so that a newcomer's match."""
    module.reducer._remove_autograd_hooks()
    parameters, sparse = module._build_params_for_reducer()
    names = module._build_debug_param_to_name_mapping(parameters)
    module._ddp_init_helper(parameters, sparse, names, module.static_graph)
    for hook, state in module._comm_hooks:
        dist._register_comm_hook(module.reducer, state, hook)
    if module.static_graph:
        module.reducer._set_static_graph()
    module._has_rebuilt_buckets = False
    module.require_forward_param_sync = True
    module.require_backward_grad_sync = True


def fsdp_roots() -> list[Any]:
    """FSDP2 models that are alive."""
    modules = list(_module_state_mapping.keys())
    return [m for m in modules if isinstance(m, FSDPModule) and m._get_fsdp_state()._is_root]
