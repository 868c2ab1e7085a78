"""Replaces `init_process_group`, so that tutorial code runs unchanged where the process group already exists.

With arguments that fit the world, the call only prints a note. Launchers (`rank.launchers`) run
their function here, because this rank already is one of the processes that they would start.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.errors import Conflict
from dtrain_lab.rank.notes import Notes
from dtrain_lab.rank.torch.group_backends import set_timeout
from dtrain_lab.text import rank_names


class ExistingGroup(Protocol):
    """The process group that the ranks already form."""

    rank: int
    size: int
    collectives: str
    """Back-ends of the group, as torch names them."""

    @property
    def store(self) -> dist.Store:
        """The store that the ranks share."""

    def remake(self) -> None:
        """Create the process group again; a collective."""


def install(group: ExistingGroup, notes: Notes) -> None:
    """Replace `torch.distributed.init_process_group`.

    Args:
        group: the process group of this rank.
        notes: tells the user that the group already exists.
    """
    init = _init_process_group(group, notes)
    init.__wrapped__ = dist.init_process_group  # type: ignore[attr-defined]
    dist.init_process_group = init
    c10d.init_process_group = init


def _init_process_group(group: ExistingGroup, notes: Notes) -> Callable[..., None]:
    process = os.getpid()

    def init_process_group(
        backend: str | None = None,
        init_method: str | None = None,
        timeout: timedelta | None = None,
        world_size: int = -1,
        rank: int = -1,
        store: Any = None,
        group_name: str = "",
        pg_options: Any = None,
        device_id: Any = None,
        **_: Any,
    ) -> None:
        """Check torch's arguments against the existing group, and leave the group as it is.

        Raises:
            Conflict: size, rank or back-end differ from the group's, or a child process called this.
        """
        if os.getpid() != process:
            raise Conflict(
                "A process that a rank has started can't create a process group: the ranks already form it.",
                "Call the function in the cell, with the variables `rank` and `world_size`.",
                code="world_size_differs",
            )
        _check(group, backend, world_size, rank)
        if not dist.is_initialized():
            group.remake()
        if timeout is not None:
            set_timeout(timeout)
        notes.say(
            f"the process group already exists (rank {group.rank} of {group.size}, "
            f"{group.collectives}); init_process_group does nothing."
        )

    return init_process_group


def _check(group: ExistingGroup, backend: str | None, world_size: int, rank: int) -> None:
    if world_size not in (-1, group.size):
        are = "is" if group.size == 1 else "are"
        raise Conflict(
            f"init_process_group asks for {rank_names.count(world_size)}; there {are} {group.size}.",
            f"Leave world_size out, or start a cluster with --ranks {world_size}.",
            code="world_size_differs",
        )
    if rank not in (-1, group.rank):
        raise Conflict(
            f"init_process_group calls this rank {rank}; it is rank {group.rank}.",
            "Leave rank out, or pass the variable `rank`, which every rank has.",
            code="rank_differs",
        )
    wanted = (backend or "").lower()
    if "nccl" in wanted and "nccl" not in group.collectives:
        raise Conflict(
            f"init_process_group asks for {wanted}; the ranks run on {group.collectives}, "
            "because its ranks don't have a GPU each.",
            'Leave the back-end out, or use "gloo".',
            code="backend_differs",
        )
    if wanted and not any(name in wanted for name in ("gloo", "nccl")):
        raise Conflict(
            f"init_process_group asks for {wanted}; the ranks run on {group.collectives}.",
            "Leave the back-end out.",
            code="backend_differs",
        )
