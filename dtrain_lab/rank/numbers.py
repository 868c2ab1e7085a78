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
    found = 0
    first = None
    for device in _DEVICES:
        if device in group._device_types:
            backend = group._get_backend(device)
            if backend is not first:  # gloo may serve both
                found += int(backend._get_sequence_number_for_group())
            first = first or backend
    return found
