"""Helpers for backward passes: callbacks at their end, flat gradients, nested arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dtrain_lab.rank.torch import names

_flatten: Any = names.find("torch._utils:_flatten_dense_tensors") if names.has(names.PROBE) else None
_unflatten: Any = names.find("torch._utils:_unflatten_dense_tensors") if names.has(names.PROBE) else None
_leaves: Any = names.find("torch.utils._pytree:tree_leaves") if names.has(names.NESTS) else None
_map: Any = names.find("torch.utils._pytree:tree_map") if names.has(names.NESTS) else None


def at_end_of_backward(run: Callable[[], None]) -> None:
    """Call a function at the end of the current backward pass; needs `names.BACKWARD`."""
    torch.autograd.Variable._execution_engine.queue_callback(run)


def version(tensor: torch.Tensor) -> int:
    """Version counter of a tensor, which grows when the tensor is changed in place."""
    return int(tensor._version)


def flatten(tensors: list[torch.Tensor]) -> torch.Tensor:
    """Concatenate tensors into one of one dimension, in their order; needs `names.PROBE`."""
    flat: torch.Tensor = _flatten(tensors)
    return flat


def copy_back(flat: torch.Tensor, tensors: list[torch.Tensor]) -> None:
    """Copy a flat tensor back into the tensors it was made of; needs `names.PROBE`.

    Args:
        flat: What `flatten` made of the tensors, one-dimensional.
        tensors: The tensors, in the same order; they are changed in place.
    """
    torch._foreach_copy_(tensors, list(_unflatten(flat, tensors)))


def leaves(value: Any) -> list[Any]:
    """Leaves of nested lists, tuples, dicts and other containers registered with torch's pytree."""
    if _leaves is not None:
        collected: list[Any] = _leaves(value)
        return collected
    collected = []
    map_leaves(collected.append, value)
    return collected


def variables(outputs: Any) -> list[torch.Tensor]:
    """Leaf tensors that a model's outputs depend on, by the graph of their computation."""
    waiting = [t.grad_fn for t in leaves(outputs) if isinstance(t, torch.Tensor) and t.grad_fn is not None]
    visited, leaves_ = set(waiting), []
    while waiting:
        node = waiting.pop()
        if hasattr(node, "variable"):
            leaves_.append(node.variable)
        following = {after for after, _ in node.next_functions if after is not None} - visited
        visited |= following
        waiting += following
    return leaves_


def map_leaves(change: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to each leaf of nested containers.

    Args:
        change: The function.
        value: Leaf, or dict, list or tuple of such values.

    Returns:
        Containers of the same structure.
    """
    if _map is not None:
        return _map(change, value)
    if isinstance(value, dict):
        return {key: map_leaves(change, part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([map_leaves(change, part) for part in value])
    return change(value)
