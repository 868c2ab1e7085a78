"""Access to torch's registry of process groups: list, make, rename; replace back-ends, set time-outs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.rank.torch import names

_remembered: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
"""Names of groups made in this process, for a torch whose own registry can't be read."""


def group_names() -> dict[Any, str]:
    """Live process groups of this process and their names, in the order they were made."""
    if names.has(names.GROUPS):
        return dict(c10d._world.pg_names)
    if not dist.is_initialized():
        return {}
    subgroups = {g: n for g, n in _remembered.items() if g is not dist.group.WORLD and not _destroyed(g)}
    return {dist.group.WORLD: "0", **subgroups}


def _destroyed(group: Any) -> bool:
    try:
        dist.get_process_group_ranks(group)
    except (KeyError, ValueError):
        return True
    return False


def find_group(name: str) -> Any:
    """The live process group with a name.

    Raises:
        LookupError: this process has no such group.
    """
    for group, other in group_names().items():
        if other == name:
            return group
    raise LookupError(f"this rank has no process group {name}")


def is_live(group: Any) -> bool:
    """Whether a group has not been destroyed."""
    if names.has(names.GROUPS):
        return group in c10d._world.pg_map
    return group in group_names()


def live_groups() -> list[Any]:
    """Groups that have not been destroyed."""
    return list(c10d._world.pg_map) if names.has(names.GROUPS) else list(group_names())


class _Live:
    """Its length is the number of groups that are not destroyed, for a torch whose registry can't be read."""

    def __len__(self) -> int:
        return len(group_names())


def registry() -> Sized:
    """An object whose length is the number of groups that are not destroyed, now and later."""
    return c10d._world.pg_map if names.has(names.GROUPS) else _Live()


def count_groups() -> int:
    """Number of group names that torch has given out; 0 if it can't be read."""
    return int(c10d._world.group_count) if names.has(names.GROUPS) else 0


def raise_group_count(count: int) -> None:
    """Raise the count of groups, so that the next group is named as on ranks that have made more groups."""
    if names.has(names.GROUPS):
        c10d._world.group_count = max(c10d._world.group_count, count)


def specs() -> tuple[tuple[str, tuple[int, ...], str], ...]:
    """Name, ranks and description of each live group, in the order they were made."""
    return tuple(
        (name, tuple(sorted(dist.get_process_group_ranks(group))), group.group_desc)
        for group, name in group_names().items()
    )


def on_new_group(around: Callable[[Callable[[], Any]], Any]) -> None:
    """Wrap the creation of each process group.

    Where torch lacks the private function that makes all groups, the public functions that cells call are
    wrapped.

    Args:
        around: called with the function that makes the group and returns it (None on a rank outside it).
    """

    def watching(original: Callable[..., Any], group_of: Callable[[Any], Any]) -> Callable[..., Any]:
        def make(*args: Any, **kwargs: Any) -> Any:
            result: list[Any] = []

            def run() -> Any:
                result.append(original(*args, **kwargs))
                return group_of(result[0])

            around(run)
            return result[0]

        return make

    if names.has(names.REBUILD):
        c10d._new_process_group_helper = watching(c10d._new_process_group_helper, lambda made: made[0])
        return
    watched = watching(dist.new_group, _remember)
    dist.new_group = c10d.new_group = watched


def _remember(group: Any) -> Any:
    if not isinstance(group, dist.ProcessGroup):
        return None
    _remembered[group] = group.group_name
    return group


def make_subgroup(
    name: str, ranks: tuple[int, ...], rank: int, collectives: str, store: Any, timeout: timedelta, text: str
) -> None:
    """Make a group with the name that it already has on other ranks; needs `names.REBUILD`.

    Args:
        name: name of the group.
        ranks: its members in the world.
        rank: number of this rank.
        collectives: back-ends of the group, as torch names them.
        store: rendezvous store.
        timeout: time-out of its collectives.
        text: description of the group.
    """
    group, _ = c10d._new_process_group_helper(
        len(ranks),
        ranks.index(rank),
        list(ranks),
        collectives,
        store,
        group_name=name,
        timeout=timeout,
        group_desc=text,
    )
    c10d._world.pg_group_ranks[group] = {member: index for index, member in enumerate(ranks)}


# ---- back-ends


def rename(group: Any, name: str, text: str, store: Any) -> None:
    """Set a group's name and description again, which torch keeps in the back-end; needs `names.REBUILD`.

    Args:
        group: the live group, with its new back-end.
        name: its name.
        text: its description.
        store: the store that torch records for it.
    """
    group._set_group_name(name)
    group._set_group_desc(text)
    world = c10d._world
    world.pg_map[group] = (world.pg_map[group][0], store)


def forget_coalescing() -> None:
    """Drop the state of coalesced collectives that an abort has interrupted; needs `names.REBUILD`."""
    c10d._world.pg_coalesce_state.clear()


# ---- time-outs


# ---- names that the guard gives its groups


@contextmanager
def named(name: str) -> Iterator[None]:
    """Name the group that is made inside the context, the same on all of its ranks; needs `names.GUARD`.

    torch's own name contains the number of groups, which differs where ranks make subgroups in another order.
    """
    usual = c10d._process_group_name
    c10d._process_group_name = lambda *args, **kwargs: name
    try:
        yield
    finally:
        c10d._process_group_name = usual


def leave_out_of_names(prefix: str) -> None:
    """Ignore groups with a prefix when torch names a group made with `use_local_synchronization`.

    Needs `names.GUARD`.
    """
    usual = c10d._hash_ranks_to_str

    def hashed(ranks: list[int]) -> str:
        names = c10d._world.pg_names
        ours = {group: name for group, name in names.items() if name.startswith(prefix)}
        for group in ours:
            del names[group]
        try:
            return str(usual(ranks))
        finally:
            names.update(ours)

    c10d._hash_ranks_to_str = hashed
