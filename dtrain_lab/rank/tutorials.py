"""Code from any tutorial runs unchanged in a cell, although the process group is there already.

`init_process_group` with arguments that fit the world is a no-op with one note; `mp.spawn` over the world
runs its function here, because this rank already is one of the processes that it would make.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.errors import Conflict
from dtrain_lab.rank.group import Group


class Notes:
    """Says each thing once a cell."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def say(self, text: str) -> None:
        """Print a note to stderr, unless this cell has it already."""
        if text not in self._said:
            self._said.add(text)
            print(f"dtrain-lab: {text}", file=sys.stderr)

    def forget(self) -> None:
        """A new cell begins."""
        self._said.clear()


def install(group: Group, notes: Notes) -> None:
    """Put our answers in place of the functions that tutorials call."""
    init = _init_process_group(group, notes)
    init.__wrapped__ = dist.init_process_group  # type: ignore[attr-defined]
    dist.init_process_group = init
    c10d.init_process_group = init
    mp.spawn = _spawn(group, notes, mp.spawn)


def _init_process_group(group: Group, notes: Notes) -> Callable[..., None]:
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
        """torch's, answered by the world that is there: checks the arguments and leaves the group alone."""
        _check(group, backend, world_size, rank)
        if not dist.is_initialized():
            group.remake()
        if timeout is not None:
            c10d._set_pg_timeout(timeout)
        notes.say(
            f"the process group is there already (rank {group.rank} of {group.size}, "
            f"{group.collectives}); init_process_group has nothing to do."
        )

    return init_process_group


def _check(group: Group, backend: str | None, world_size: int, rank: int) -> None:
    if world_size not in (-1, group.size):
        raise Conflict(
            f"init_process_group asks for {world_size} ranks; this world has {group.size}.",
            f"Leave world_size out, or start a cluster with --ranks {world_size}.",
            code="world_size_differs",
        )
    if rank not in (-1, group.rank):
        raise Conflict(
            f"init_process_group calls this rank {rank}; it is rank {group.rank}.",
            "Leave rank out, or pass the variable `rank`, which every rank has.",
            code="rank_differs",
        )
    asked = (backend or "").lower()
    if "nccl" in asked and "nccl" not in group.collectives:
        raise Conflict(
            f"init_process_group asks for {asked}; this world runs on {group.collectives}, "
            "because its ranks don't have a GPU each.",
            'Leave the back-end out, or use "gloo".',
            code="backend_differs",
        )
    if asked and not any(known in asked for known in ("gloo", "nccl")):
        raise Conflict(
            f"init_process_group asks for {asked}; this world runs on {group.collectives}.",
            "Leave the back-end out.",
            code="backend_differs",
        )


def _spawn(group: Group, notes: Notes, original: Callable[..., Any]) -> Callable[..., Any]:
    def spawn(
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        nprocs: int = 1,
        join: bool = True,
        daemon: bool = False,
        start_method: str = "spawn",
    ) -> Any:
        """torch's, where it would make the ranks that are there already: run `fn` as this rank."""
        if nprocs != group.size:
            return original(fn, args, nprocs, join, daemon, start_method)
        notes.say(f"the {group.size} ranks are there already; mp.spawn runs {fn.__name__} in each of them.")
        fn(group.rank, *args)
        return None

    return spawn
