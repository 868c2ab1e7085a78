"""The process group of a rank: forms it, aborts it, and gives live objects the back-end of a new generation.

After a plain re-init every live DDP model would fail at each step. So a new generation puts a new back-end
into the next free slot of each live `ProcessGroup`: group objects, the C++ references to them and their
names stay, and with them the user's DDP and FSDP2 models, meshes and subgroups. (`BackendType` is a uint8
enum whose binding takes any integer; 0 to 6 are torch's own.)
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from dtrain_lab.rank.group.gloo_sockets import GlooSockets
from dtrain_lab.rank.group.link_store import LinkStore, PendingCalls
from dtrain_lab.rank.group.resize import resize
from dtrain_lab.rank.group.retained_groups import RetainedGroups
from dtrain_lab.rank.group.sequence_numbers import begun
from dtrain_lab.rank.torch import ddp, fsdp, group_backends, groups, names, nccl
from dtrain_lab.wire.links import FormGroup, GroupSpec

WORLD_NAME = "0"
FIRST_FREE_SLOT = 7
LAST_SLOT = 255


class Group:
    """The process groups of this rank.

    Args:
        rank: number of this rank in the world.
        size: number of ranks in the world.
        collectives: back-ends of torch.distributed, as torch names them.
        calls: sends calls of the rendezvous store to the head.
    """

    def __init__(self, rank: int, size: int, collectives: str, calls: PendingCalls) -> None:
        self.rank = rank
        self.size = size
        self.collectives = collectives
        self.generation = -1
        self.timeout = timedelta(minutes=30)
        self._calls = calls
        self._store = LinkStore(calls)
        """Referenced here because torch holds the C++ half only, and that fails without the Python half."""
        self._sockets = GlooSockets()
        self._retained = RetainedGroups()
        self._models: weakref.WeakSet[Any] = weakref.WeakSet()
        self._slot = FIRST_FREE_SLOT
        self._remakes = 0
        self._device: Any = None

    @property
    def store(self) -> dist.Store:
        """The store that the ranks share; it outlives their process groups."""
        return self._store

    def watch_objects(self) -> None:
        """Record DDP models, and process groups with their sockets, as they are made."""
        ddp.on_new_model(self._models.add)
        groups.on_new_group(self._around_new_group)

    def _around_new_group(self, make: Callable[[], Any]) -> None:
        with self._sockets.watch():
            group = make()
        if group is not None:
            self._retained.add(group)

    def form(self, order: FormGroup) -> tuple[str, ...]:
        """Form the group of a generation; a collective over all ranks.

        Args:
            order: the head's order, with generation, size and the groups to make.

        Returns:
            Names of live objects that could not be given the new group.
        """
        self.generation = order.generation
        # the GPU may still wait in a collective of the previous generation, even if no thread does
        self._abort_nccl()
        self.collectives = order.collectives
        if "nccl" in self.collectives:
            nccl.switch_watchdog_off()
        store = dist.PrefixStore(f"gen{order.generation}", self._store)
        if order.size != self.size:
            return resize(self, store, order)
        if dist.is_initialized():
            if names.has(names.REBUILD):
                return self._repoint(store, order)
            return self._recreate(store)
        self._join(store, order)
        return ()

    def remake(self) -> None:
        """Make the default group again, inside a cell that has destroyed it; a collective."""
        self._remakes += 1
        store = dist.PrefixStore(f"gen{self.generation}/again{self._remakes}", self._store)
        self.init(store)

    def break_waits(self) -> None:
        """Abort the collective or store call that the main thread waits in. Called on the IOPub thread."""
        self._calls.abort()
        self._sockets.shut()
        self._abort_nccl()

    def _abort_nccl(self) -> None:
        if "nccl" in self.collectives and dist.is_initialized():
            nccl.abort_all()

    def specs(self) -> tuple[tuple[GroupSpec, ...], int]:
        """The groups of this rank in the order they were made, and how many names torch has given out."""
        return groups.specs(), groups.count_groups()

    def sequence(self) -> int | None:
        """Collectives that this rank has issued in the default group; None if there is no group."""
        if not dist.is_initialized():
            return None
        return begun(dist.group.WORLD)

    # ---- a fresh process, or one whose cell destroyed the group

    def _join(self, store: dist.Store, order: FormGroup) -> None:
        self.init(store)
        if not names.has(names.REBUILD):
            return
        for name, ranks, description in order.groups:
            if name != WORLD_NAME and self.rank in ranks:
                groups.make_subgroup(
                    name, ranks, self.rank, self.collectives, store, self.timeout, description
                )
        groups.raise_group_count(order.group_count)

    def init(self, store: dist.Store) -> None:
        """Make the default group over a store; a collective."""
        # torch's own function: `dist.init_process_group` is replaced by ours (rank/init_process_group.py)
        with self._sockets.watch():
            c10d_init(
                self.collectives,
                store=store,
                rank=self.rank,
                world_size=self.size,
                timeout=self.timeout,
            )
        self._connect(dist.group.WORLD)

    def _connect(self, pg: Any) -> None:
        if "nccl" in self.collectives and self.size > 1:
            nccl.connect(pg)

    # ---- a rank that survived from the last generation

    def _recreate(self, store: dist.Store) -> tuple[str, ...]:
        """Destroy the old group and make a new one, where torch can't replace a live group's back-end."""
        left = [f"process group {name}" for name in groups.group_names().values() if name != WORLD_NAME]
        left += [type(module.module).__name__ for module in self.models]
        left += [type(module).__name__ for module in fsdp.roots()]
        dist.destroy_process_group()
        self.init(store)
        return tuple(left)

    def _repoint(self, store: dist.Store, order: FormGroup) -> tuple[str, ...]:
        live = {name: pg for pg, name in groups.group_names().items()}
        slots = len(self._devices())
        if self._slot + slots - 1 > LAST_SLOT:
            times = (LAST_SLOT - FIRST_FREE_SLOT + 1) // slots
            raise RuntimeError(f"the group was rebuilt {times} times; restart all ranks to continue")
        # claim the slots before anything can fail: torch keeps the old back-end in a slot that is in use
        slot, self._slot = self._slot, self._slot + slots
        for name, ranks, description in order.groups:
            pg = live.get(name)
            if pg is not None:
                self._replace_backend(pg, name, ranks, description, store, slot)
        groups.forget_coalescing()
        groups.raise_group_count(order.group_count)
        return self._reset_models()

    def _devices(self) -> list[str]:
        return ["cpu", "cuda"] if "nccl" in self.collectives else ["cpu"]

    def _replace_backend(
        self, pg: Any, name: str, ranks: tuple[int, ...], description: str, store: dist.Store, slot: int
    ) -> None:
        prefix = dist.PrefixStore(f"{name}/", store)
        members = list(ranks) if name != WORLD_NAME else []
        for offset, device in enumerate(self._devices()):
            if device == "cpu":
                backend: Any = self._gloo(prefix, pg, members, name)
            else:
                backend = self._nccl(prefix, pg, members, name)
            alone = device == "cpu" and "nccl" not in self.collectives
            group_backends.replace_backend(pg, device, slot + offset, backend, alone=alone)
        groups.rename(pg, name, description, prefix)
        if name == WORLD_NAME:
            self._connect(pg)

    def _gloo(self, store: dist.Store, pg: Any, members: list[int], name: str) -> Any:
        if self._device is None:
            # one listener and one loop thread for all generations, because old back-ends are never freed
            interface = os.environ["GLOO_SOCKET_IFNAME"].split(",")[0]
            self._device = dist.ProcessGroupGloo.create_device(interface=interface)
        options = group_backends.gloo_options(self._device, self.timeout, members, name)
        with self._sockets.watch():
            return dist.ProcessGroupGloo(dist.PrefixStore("cpu/", store), pg.rank(), pg.size(), options)

    def _nccl(self, store: dist.Store, pg: Any, members: list[int], name: str) -> Any:
        options = nccl.options(self.timeout, members, name)
        return dist.ProcessGroupNCCL(dist.PrefixStore("cuda/", store), pg.rank(), pg.size(), options)

    @property
    def models(self) -> list[Any]:
        """Live DDP models."""
        return list(self._models)

    def _reset_models(self) -> tuple[str, ...]:
        left: list[str] = []
        for module in list(self._models):
            try:
                ddp.reset(module)
            except (RuntimeError, AttributeError) as error:
                left.append(f"{type(module).__name__}: {error}")
        for module in fsdp.roots():
            try:
                whole = fsdp.reset(module)
            except (RuntimeError, AttributeError) as error:
                left.append(f"{type(module).__name__}: {error}")
            else:
                left += [] if whole else [f"{type(module).__name__}, sharded by FSDP2"]
        return tuple(left)


c10d_init = c10d.init_process_group
