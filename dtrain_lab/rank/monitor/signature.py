"""Signatures of collectives: the part of a call on which all ranks of its group have to agree."""

from __future__ import annotations

import zlib
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.metrics import ring

POINT_TO_POINT = frozenset({"send", "recv"})
TENSOR = {"all_gather": 1, "all_gather_into_tensor": 1, "all_gather_single": 1}
"""Position of the tensor whose shape has to agree; 0 for other operations."""
SHAPELESS = frozenset(
    {"barrier", "monitored_barrier", "all_to_all", "all_to_all_single", "all_gather_object",
     "broadcast_object_list", "gather_object", "scatter_object_list"}
)  # fmt: skip
ROOT = {"broadcast": 1, "reduce": 1, "scatter": 2, "gather": 2}
ROOT_NAMES = ("src", "dst", "group_src", "group_dst")
DTYPES = {
    getattr(torch, name): index for index, name in enumerate(ring.DTYPES) if name and hasattr(torch, name)
}
_checksums: dict[str, int] = {}
Signature = tuple[int, int, int, int, int, tuple[int, ...]]
"""Arguments of `ring.Writer.note_call`: group, number, operation, dtype, root, shape."""


def group_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The process group of a call; the default group where the call names no group.

    Args:
        args: Positional arguments of the call.
        kwargs: Its keyword arguments.
    """
    group = kwargs.get("group")
    if group is None:
        group = next((a for a in args if isinstance(a, dist.ProcessGroup)), None)
    return group if group is not None else c10d.GroupMember.WORLD


def checksum(group: Any) -> int:
    """A checksum of the group's name, the same on all of its ranks."""
    name = group.group_name
    value = _checksums.get(name)
    if value is None:
        value = _checksums[name] = zlib.crc32(name.encode())
    return value


def signature(
    name: str, index: int, args: tuple[Any, ...], kwargs: dict[str, Any], numbers: dict[int, int]
) -> Signature | None:
    """The signature of a call, numbered within its group and cell.

    torch's own sequence number can't be used: gloo also counts messages between two ranks, which the other
    ranks don't see.

    Args:
        name: name of the operation.
        index: its index in `ring.OPERATIONS`.
        args: positional arguments of the call.
        kwargs: keyword arguments of the call.
        numbers: collectives counted so far, by checksum of the group; increased here.

    Returns:
        The signature; None for point-to-point operations and for ranks outside the group.
    """
    group = group_of(args, kwargs)
    if name in POINT_TO_POINT or not isinstance(group, dist.ProcessGroup):
        return None
    group_checksum = checksum(group)
    number = numbers[group_checksum] = numbers.get(group_checksum, 0) + 1
    dtype, shape = 0, ()
    if name not in SHAPELESS:
        at = TENSOR.get(name, 0)
        tensor = args[at] if at < len(args) else next(
            (kwargs[k] for k in ("tensor", "input_tensor", "output") if k in kwargs), None
        )  # fmt: skip
        if isinstance(tensor, torch.Tensor):
            dtype, shape = DTYPES.get(tensor.dtype, 0), tuple(tensor.shape)
    return group_checksum, number, index, dtype, _root(name, args, kwargs), shape


def _root(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    at = ROOT.get(name)
    if at is None:
        return -1
    root = args[at] if at < len(args) else next((kwargs[k] for k in ROOT_NAMES if k in kwargs), None)
    return root if isinstance(root, int) else 0
