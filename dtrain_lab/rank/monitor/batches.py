"""How many samples and tokens a batch has."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

DEPTH = 3
WHOLE = (torch.int64, torch.int32)


def first_tensor(batch: Any, depth: int = 0) -> torch.Tensor | None:
    """The first tensor in a batch."""
    if isinstance(batch, torch.Tensor):
        return batch if batch.dim() else None
    if depth > DEPTH:
        return None
    values = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    for value in values:
        found = first_tensor(value, depth + 1)
        if found is not None:
            return found
    return None


def sizes(batch: Any) -> tuple[int, int]:
    """Samples and tokens of a batch; 0 where it does not tell.

    Samples: the first dimension of its first tensor. Tokens: elements of `input_ids`, or of a first tensor of
    whole numbers in two dimensions (sample × position).
    """
    ids = batch.get("input_ids") if isinstance(batch, dict) else None
    first = ids if isinstance(ids, torch.Tensor) and ids.dim() else first_tensor(batch)
    if first is None:
        return 0, 0
    tokens = first.numel() if first.dim() == 2 and first.dtype in WHOLE else 0
    return int(first.shape[0]), tokens


def time_major(module: nn.Module) -> bool:
    """Whether this model's batches may have time, not samples, in their first dimension."""
    return any(getattr(m, "batch_first", True) is False for m in module.modules())
