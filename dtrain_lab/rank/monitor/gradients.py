"""Notes how many bytes of gradients DDP averages, so that advice can say what fewer would save."""

from __future__ import annotations

from typing import Any

from dtrain_lab.metrics import ring
from dtrain_lab.rank.torch import ddp

PLAIN, HOOKED = 1, 2


def note(cells: Any, module: Any, *, hooked: bool) -> int:
    """Called when a DDP model begins a step in which its gradients are averaged.

    Args:
        cells: the metrics ring.
        module: the DDP model.
        hooked: whether the model has a communication hook.

    Returns:
        Bytes of its gradients; 0 if unknown.
    """
    state = module.__dict__
    known = state.get("_dtrain_gradients")
    if known is None:  # cached: counting takes 1 ms for a large model
        known = state["_dtrain_gradients"] = ddp.gradient_sizes(module)
    total, item = known
    cells[ring.GRADIENT_ITEM] = item
    cells[ring.HOOKED] = HOOKED if hooked else PLAIN
    return int(total)
