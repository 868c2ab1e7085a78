"""Access to the back-ends of process groups: what they have begun, their options, time-outs, replacement."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.rank.torch import names

_DEVICES = tuple(torch.device(name) for name in ("cpu", "cuda"))


def backends(group: Any) -> list[Any]:
    """The back-ends that a group uses now; each rebuild of the world replaces them."""
    if not names.has(names.GROUPS):
        return []
    distinct: list[Any] = []
    for device in _DEVICES:
        if device in group._device_types:
            backend = group._get_backend(device)
            if backend not in distinct:  # gloo may serve both devices
                distinct.append(backend)
    return distinct


def begun(backends: list[Any]) -> int:
    """Number of collectives that this process has begun on back-ends; 0 if torch does not tell."""
    if not names.has(names.NUMBERS):
        return 0
    number = 0
    for backend in backends:
        number += backend._get_sequence_number_for_group()
    return number


def counter(backends: list[Any]) -> Callable[[], int]:
    """A function that returns what `begun` does, fast enough for each step: torch's own for one back-end."""
    if len(backends) == 1 and names.has(names.NUMBERS):
        count: Callable[[], int] = backends[0]._get_sequence_number_for_group
        return count
    return partial(begun, backends)


def gloo_options(device: Any, timeout: timedelta, members: list[int], name: str) -> Any:
    """Options of a gloo back-end.

    Needs `names.REBUILD`.

    Args:
        device: gloo's network device.
        timeout: time-out of collectives.
        members: ranks of the group in the world.
        name: name of the group.
    """
    options = dist.ProcessGroupGloo._Options()
    options._devices = [device]
    options._threads = 1
    return common_options(options, timeout, members, name)


def common_options(options: Any, timeout: timedelta, members: list[int], name: str) -> Any:
    """Set the options that all back-ends have; arguments as for `gloo_options`."""
    options._timeout = timeout
    for field, value in (("global_ranks_in_group", members), ("group_name", name)):
        if hasattr(options, field):  # older torch has only some of them
            setattr(options, field, value)
    return options


def replace_backend(group: Any, device: str, kind: int, backend: Any, *, alone: bool) -> None:
    """Give a live group another back-end for a device; needs `names.REBUILD`.

    Args:
        group: the live group.
        device: "cpu" or "cuda".
        kind: number of a back-end type that the group has not used.
        backend: the new back-end.
        alone: whether it serves all devices of the group.
    """
    # no _set_sequence_number_for_group: numbers begin at 0 in each back-end, and torch 2.14 warns of the call
    for target in group._device_types:
        if target.type == device or alone:
            group._register_backend(target, dist.ProcessGroup.BackendType(kind), backend)


def timeout_of(group: Any) -> timedelta | None:
    """Time-out of a group's collectives; None if it can't be set."""
    if not names.has(names.TIMEOUTS):
        return None
    for backend in backends(group):
        if isinstance(backend, c10d.ProcessGroupGloo) or type(backend).__name__ == "ProcessGroupNCCL":
            timeout: timedelta = backend.options._timeout
            return timeout
    return None


def set_timeout(timeout: timedelta, group: Any = None) -> None:
    """Set the time-out of later operations of a group, or of the default group.

    Does nothing if this torch can't set it.

    Args:
        timeout: The time-out.
        group: The process group; None for the default group.
    """
    if names.has(names.TIMEOUTS):
        public = getattr(dist, "set_timeout", None)  # torch 2.14 and newer, which warn of the private one
        (public or c10d._set_pg_timeout)(timeout, group)
