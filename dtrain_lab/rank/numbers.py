"""How many collectives a process group has begun: the same on all of its ranks that keep pace."""

from __future__ import annotations

from typing import Any

import torch

_DEVICES = tuple(torch.device(name) for name in ("cpu", "cuda"))


def begun(group: Any) -> int:
    """Collectives that this process has begun in a group, over its back-ends.

    Asked of the back-ends that are in use: the group's own number is that of its first one, which a rebuilt
    world uses no more.
    """
    return sum(int(backend._get_sequence_number_for_group()) for backend in backends(group))


def backends(group: Any) -> list[Any]:
    """The back-ends that a group uses now; rebuilding its world gives it others."""
    found: list[Any] = []
    for device in _DEVICES:
        if device in group._device_types:
            backend = group._get_backend(device)
            if backend not in found:  # gloo may serve both
                found.append(backend)
    return found
