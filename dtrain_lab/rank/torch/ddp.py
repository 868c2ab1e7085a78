"""Private parts of DistributedDataParallel: reset of the reducer, timing of backward, buckets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sized
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.rank.torch import names
from dtrain_lab.training.gradients import unused

SPARSE = (torch.nn.Embedding, torch.nn.EmbeddingBag)
"""Modules whose gradients may be sparse; sparse gradients can't be put into buckets."""
RATE = "_dtrain_timed_every"
"""Attribute of a DDP model: the interval, in steps, at which it times a backward pass."""


def on_new_model(on_made: Callable[[Any], None]) -> None:
    """Call a function with each DDP model that is constructed or unpickled."""
    construct = DistributedDataParallel.__init__

    @functools.wraps(construct)  # frameworks inspect its signature
    def init_ddp(self: Any, /, *args: Any, **kwargs: Any) -> None:
        construct(self, *args, **kwargs)
        on_made(self)

    DistributedDataParallel.__init__ = init_ddp
    unpickled = DistributedDataParallel.__setstate__

    def set_state(self: Any, state: Any) -> None:
        unpickled(self, state)
        on_made(self)

    DistributedDataParallel.__setstate__ = set_state


def reset(module: Any) -> None:
    """Reset a DDP model to its state after construction, after its process group was replaced.

    The new reducer has the initial buckets, so that they match those of a restarted rank.

    Args:
        module: the DDP model.

    Raises:
        RuntimeError: this torch lacks what is needed.
    """
    if not names.has(names.MODELS):
        raise RuntimeError(names.MODELS.without)
    module.reducer._remove_autograd_hooks()
    parameters, sparse = module._build_params_for_reducer()
    named = module._build_debug_param_to_name_mapping(parameters)
    module._ddp_init_helper(parameters, sparse, named, module.static_graph)
    unused.note(module)
    for hook, state in module._comm_hooks:
        dist._register_comm_hook(module.reducer, state, hook)
    if module.static_graph:
        module.reducer._set_static_graph()
    module._has_rebuilt_buckets = False
    module.require_forward_param_sync = True
    module.require_backward_grad_sync = True
    rate = module.__dict__.get(RATE)
    if rate is not None:  # the new reducer's logger starts with the default
        module._set_ddp_runtime_logging_sample_rate(rate)


def drop_hooks(module: Any) -> None:
    """Remove a DDP model's communication hooks, for which torch has no call.

    Raises:
        RuntimeError: this torch lacks what is needed.
    """
    module._comm_hooks.clear()
    reset(module)


def parameters(module: Any) -> list[Any]:
    """Parameters whose gradients DDP averages; needs `names.BACKWARD`."""
    return list(module._module_parameters)


def gradient_sizes(module: Any) -> tuple[int, int]:
    """Bytes of the gradients that DDP averages, and of one element of most of them; needs `names.BACKWARD`.

    Both are 0 if unknown: gradients may be sparse.
    """
    if any(isinstance(part, SPARSE) and part.sparse for part in module.module.modules()):
        return 0, 0
    reduced = getattr(module.mixed_precision, "reduce_dtype", None)
    sizes: dict[int, int] = {}
    for p in module._module_parameters:
        if p.requires_grad:
            item = (reduced or p.dtype).itemsize
            sizes[item] = sizes.get(item, 0) + p.numel() * item
    return sum(sizes.values()), max(sizes, key=lambda item: sizes[item], default=0)


def is_of_all_ranks(module: Any) -> bool:
    """Whether a model averages over all ranks."""
    return module.process_group is dist.group.WORLD


def may_be_left(module: Any) -> bool:
    """Whether a rank may stop to train a model before the others do (`Join`)."""
    join = getattr(module, "_join_config", None)
    return join is not None and bool(join.enable)


def hooks(module: Any) -> Sized:
    """The communication hooks that the user has registered, as a list that grows; needs `names.BACKWARD`."""
    registered: list[Any] = module._comm_hooks
    return registered


def has_hooks(module: Any) -> bool:
    """Whether the user has registered a communication hook; needs `names.BACKWARD`."""
    return bool(module._comm_hooks)


def watch_inner_forward(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Wrap the call of the user's model inside DDP's forward; needs `names.BACKWARD`.

    Args:
        wrap: called with the function that runs the model, whose arguments are the DDP model and the model's
            arguments; returns the function to call instead.
    """
    DistributedDataParallel._run_ddp_forward = wrap(DistributedDataParallel._run_ddp_forward)


def time_every(module: Any, steps: int) -> None:
    """Set the number of steps of which DDP times one backward pass; needs `names.BACKWARD`.

    Args:
        module: The DDP model.
        steps: One of so many backward passes is timed.
    """
    module.__dict__[RATE] = steps
    module._set_ddp_runtime_logging_sample_rate(steps)


def waited_in_backward(module: Any) -> int:
    """Time that the last timed backward pass waited for communication, ns; needs `names.BACKWARD`."""
    counters = module.logger._get_ddp_logging_data().ints_map
    spent: int = counters.get("backward_comm_time", 0)
    hidden: int = counters.get("backward_compute_comm_overlap_time", 0)
    return max(0, spent - hidden)


def can_be_probed(module: Any) -> bool:
    """Whether a model's gradients can be averaged after backward without any risk to its results."""
    return names.has(names.PROBE) and not (
        module.find_unused_parameters
        or module.static_graph
        or module._comm_hooks
        or module.mixed_precision is not None
        or module._join_config.enable
        or module._use_python_reducer
        or getattr(module, "_delay_all_reduce_all_params", False)
        or module.device_type == "cuda"  # CPU times don't show how long the GPU averages
        or torch.compiler.is_compiling()
        or any(isinstance(part, SPARSE) and part.sparse for part in module.module.modules())
        or any(p._post_accumulate_grad_hooks for p in module._module_parameters)
    )


def buckets(module: Any) -> list[list[torch.Tensor]]:
    """The parameters of each of DDP's buckets, on which the order of a sum's terms depends.

    Needs `names.PROBE`.
    """
    return [list(bucket.parameters()) for bucket in module.reducer._get_zeros_like_grad_buckets()]
