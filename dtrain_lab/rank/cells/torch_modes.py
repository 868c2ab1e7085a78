"""torch's switches of this thread that an interrupt can leave as no cell has set them.

`torch.no_grad()`, each optimizer's step and `torch.autocast` set them for a while, in plain Python. An
interrupt that arrives in their last lines skips the way back: every later cell would train without gradients
("element 0 of tensors does not require grad") or in a lower precision.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

DEVICES = ("cpu", "cuda")

GRADIENTS = (
    "The interrupt left gradients disabled on this rank (as in torch.no_grad()). They are enabled again, as "
    "they were before this cell."
)
PRECISION = (
    "The interrupt left torch.autocast enabled on this rank. It is disabled again, as it was before this "
    "cell."
)


class TorchModes(NamedTuple):
    """Whether gradients are computed, and the device types with autocast."""

    gradients: bool
    autocast: frozenset[str]


def current() -> TorchModes | None:
    """Return the modes of this thread; None if torch is not imported."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "is_autocast_enabled"):  # its import may be under way
        return None
    return TorchModes(torch.is_grad_enabled(), frozenset(filter(torch.is_autocast_enabled, DEVICES)))


def restore(before: TorchModes | None) -> list[str]:
    """Set back what an interrupt has left changed in this thread.

    A cell that has changed a mode on purpose loses that, too; so each change is to be told.

    Args:
        before: The modes before the interrupted cell; None: torch's defaults.

    Returns:
        A sentence for each mode that was set back.
    """
    now = current()
    if now is None:
        return []
    before = before or TorchModes(True, frozenset())
    torch: Any = sys.modules["torch"]
    told = []
    if before.gradients and not now.gradients:
        torch.set_grad_enabled(True)
        told.append(GRADIENTS)
    for device in now.autocast - before.autocast:
        torch.set_autocast_enabled(device, False)
        told.append(PRECISION)
    return list(dict.fromkeys(told))
