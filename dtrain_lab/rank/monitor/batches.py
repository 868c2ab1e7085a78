"""Counts the samples and tokens of a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

DEPTH = 3
WHOLE = (torch.int64, torch.int32)


def first_tensor(batch: Any, depth: int = 0) -> torch.Tensor | None:
    """The first tensor with a dimension in a batch of nested lists, tuples and dicts; None without one.

    Args:
        batch: Tensors in lists, tuples and dicts.
        depth: Level of nesting reached; the search ends at `DEPTH`.
    """
    if isinstance(batch, torch.Tensor):
        return batch if batch.dim() else None
    if depth > DEPTH:
        return None
    values = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    for value in values:
        tensor = first_tensor(value, depth + 1)
        if tensor is not None:
            return tensor
    return None


def sizes(batch: Any) -> tuple[int, int]:
    """Samples and tokens of a batch; 0 if unknown.

    Samples are the first dimension of the batch's first tensor. Tokens are the elements of `input_ids`, or of
    a first tensor of integers with two dimensions (sample × position).
    """
    named = batch if isinstance(batch, dict) else {}
    return sizes_of(batch_tensor((batch,), named))


def batch_tensor(args: Any, kwargs: dict[str, Any]) -> torch.Tensor | None:
    """The tensor from which the size of a batch is taken: `input_ids`, or the first tensor.

    Args:
        args: Positional arguments of a forward pass.
        kwargs: Its keyword arguments.

    Returns:
        A tensor whose first dimension is that of the samples; None without one.
    """
    ids = kwargs.get("input_ids")
    return ids if isinstance(ids, torch.Tensor) and ids.dim() else first_tensor((args, kwargs))


def sizes_of(first: torch.Tensor | None) -> tuple[int, int]:
    """Samples and tokens of a batch, given its first tensor or `input_ids`; 0 if unknown."""
    if first is None:
        return 0, 0
    shape = first.shape
    tokens = first.numel() if len(shape) == 2 and first.dtype in WHOLE else 0
    return int(shape[0]), tokens


def time_major(module: nn.Module) -> bool:
    """Whether a model's batches may have time instead of samples in their first dimension."""
    return any(getattr(m, "batch_first", True) is False for m in module.modules())
