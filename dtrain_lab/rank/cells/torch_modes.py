"""torch's switches of this thread that an interrupt can leave as no cell has set them.

`torch.no_grad()`, each optimizer's step and `torch.autocast` set them for a while, in plain Python. An
interrupt that arrives in their first or last lines skips the way back: every later cell would train without
gradients ("element 0 of tensors does not require grad"), in a lower precision, or on old weights: autocast
keeps weights in the lower precision until the outermost of its contexts ends.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

DEVICES = ("cpu", "cuda")

GRADIENTS = (
    "The interrupt left gradients disabled on this rank (as in torch.no_grad()). They are enabled again, as "
    "they were before this cell."
)
AUTOCAST = (
    "The interrupt left a torch.autocast context open on this rank. It is closed, and autocast is set as it "
    "was before this cell."
)


class Autocast(NamedTuple):
    """What `torch.autocast` changes in a thread."""

    nesting: int
    """How many contexts are open."""
    caches: bool
    """Whether weights are kept in the lower precision."""
    devices: tuple[tuple[bool, Any], ...]
    """Whether it is enabled, and its dtype, for each of `DEVICES`."""


class TorchModes(NamedTuple):
    """Whether gradients are computed, and the state of autocast."""

    gradients: bool
    autocast: Autocast


def current() -> TorchModes | None:
    """Return the modes of this thread; None if torch is not imported."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "is_autocast_enabled"):  # its import may be under way
        return None
    devices = tuple((torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in DEVICES)
    torch.autocast_increment_nesting()  # the depth can only be read by changing it
    nesting = torch.autocast_decrement_nesting()
    return TorchModes(torch.is_grad_enabled(), Autocast(nesting, torch.is_autocast_cache_enabled(), devices))


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
    torch: Any = sys.modules["torch"]
    told = []
    if (before is None or before.gradients) and not now.gradients:
        torch.set_grad_enabled(True)
        told.append(GRADIENTS)
    torch.clear_autocast_cache()  # it may have come between the end of a context and that context's own call
    autocast = before.autocast if before else _initial()
    if now.autocast != autocast:
        _set(autocast, now.autocast.nesting)
        told.append(AUTOCAST)
    return told


def _initial() -> Autocast:
    """Return the state of autocast in a process that has just imported torch."""
    torch: Any = sys.modules["torch"]
    return Autocast(0, True, ((False, torch.bfloat16), (False, torch.float16)))


def _set(state: Autocast, nesting: int) -> None:
    torch: Any = sys.modules["torch"]
    for device, (is_enabled, dtype) in zip(DEVICES, state.devices, strict=True):
        torch.set_autocast_enabled(device, is_enabled)
        torch.set_autocast_dtype(device, dtype)
    torch.set_autocast_cache_enabled(state.caches)
    for _ in range(nesting, state.nesting):
        torch.autocast_increment_nesting()
    for _ in range(state.nesting, nesting):
        torch.autocast_decrement_nesting()
