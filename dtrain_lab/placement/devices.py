"""Devices: which of a node's devices each of its ranks gets. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

D = TypeVar("D")


def device_of(local_rank: int, devices: Sequence[D]) -> D | None:
    """Return the device of a rank; None for the CPU.

    Args:
        local_rank: Number of the rank on its node.
        devices: Those that the node's ranks see, or their indices; more ranks than devices share them.
    """
    return devices[local_rank % len(devices)] if devices else None


def device_name(local_rank: int, gpus: int) -> str:
    """Return torch's name of a rank's device.

    Args:
        local_rank: Number of the rank on its node.
        gpus: Number of GPUs that the node's ranks see.
    """
    index = device_of(local_rank, range(gpus))
    return "cpu" if index is None else f"cuda:{index}"
