"""The process group of a rank: form it, break it, and give live objects a new one.

After a plain re-init every live DDP model would fail at each step. So a new generation puts a new back-end
into the next free slot of each live `ProcessGroup`: group objects, the C++ references to them and their
names stay, and with them the user's DDP and FSDP2 models, meshes and subgroups. (`BackendType` is a uint8
enum whose binding takes any integer; 0 to 6 are torch's own.)
"""

from __future__ import annotations

import os
import weakref
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.core.wire.links import Form, GroupSpec
from dtrain_lab.rank.models import fsdp_roots, reset_ddp
from dtrain_lab.rank.numbers import begun
from dtrain_lab.rank.resize import resize
from dtrain_lab.rank.sockets import GlooSockets
from dtrain_lab.rank.store import Calls, LinkStore

WORLD_NAME = "0"
FIRST_FREE_SLOT = 7
LAST_SLOT = 255
KEPT_DESTROYED = 16


class Group:
    """The groups of this rank.

    Args:
        rank, size: in the world.
        collectives: back-end of torch.distributed.
        calls: of the rendezvous store.
    """

    def __init__(self, rank: int, size: int, collectives: str, calls: Calls) -> None:
        self.rank = rank
        self.size = size
        self.collectives = collectives
        self.generation = -1
        self.timeout = timedelta(minutes=30)
        self._calls = calls
        self._store = LinkStore(calls)
        """Kept here: torch holds the C++ half only, and a collected Python half can't answer any more."""
        self._sockets = GlooSockets()
        self._made: list[Any] = []
        self._models: weakref.WeakSet[Any] = weakref.WeakSet()
        self._slot = FIRST_FREE_SLOT
        self._remakes = 0
        self._device: Any = None

    def watch_objects(self) -> None:
        """Note DDP and FSDP2 models and the sockets of groups as they are made."""
        made_ddp = DistributedDataParallel.__init__
        models = self._models

        def init_ddp(module: Any, *args: Any, **kwargs: Any) -> None:
            made_ddp(module, *args, **kwargs)
            models.add(module)

        DistributedDataParallel.__init__ = init_ddp
        unpickled = DistributedDataParallel.__setstate__

        def set_state(module: Any, state: Any) -> None:
            unpickled(module, state)
            models.add(module)

        DistributedDataParallel.__setstate__ = set_state
        made_group = c10d._new_process_group_helper

        def new_group(*args: Any, **kwargs: Any) -> Any:
            with self._sockets.watch():
                made = made_group(*args, **kwargs)
            self._keep(made[0])
            return made

        c10d._new_process_group_helper = new_group

    def _keep(self, group: Any) -> None:
        """Keep a group beyond its destruction, until it has long been idle.

        torch's destructor of a gloo group joins its threads with the GIL held, and a thread that still frees
        the last collective's Python objects waits for the GIL: a cell that destroys its group right after
        training (each DDP tutorial) would now and then hang there.
        """
        self._made.append(group)
        destroyed = [g for g in self._made if g not in c10d._world.pg_map and g is not group]
        for old in destroyed[:-KEPT_DESTROYED]:
            self._made.remove(old)

    def form(self, order: Form) -> tuple[str, ...]:
        """Form the group of a generation; a collective over all ranks.

        Returns:
            Names of live objects that could not be given the new group.
        """
        self.generation = order.generation
        self.collectives = order.collectives
        store = dist.PrefixStore(f"gen{order.generation}", self._store)
        if order.size != self.size:
            return resize(self, store, order)
        if dist.is_initialized():
            return self._repoint(store, order)
        self._join(store, order)
        return ()

    def remake(self) -> None:
        """Make the default group again, inside a cell that has destroyed it; collective."""
        self._remakes += 1
        store = dist.PrefixStore(f"gen{self.generation}/again{self._remakes}", self._store)
        self.init(store)

    def break_waits(self) -> None:
        """Free the main thread from whatever collective it waits in. Called by the link's thread."""
        self._calls.abort()
        self._sockets.shut()
        if "nccl" in self.collectives and dist.is_initialized():
            for pg in list(c10d._world.pg_map):
                pg.abort()

    def specs(self) -> tuple[tuple[GroupSpec, ...], int]:
        """The groups of this rank in the order they were made, and how many names were given out."""
        world = c10d._world
        groups = tuple(
            (world.pg_names[pg], tuple(sorted(world.pg_group_ranks[pg])), pg.group_desc)
            for pg in world.pg_map
        )
        return groups, world.group_count

    def sequence(self) -> int | None:
        """Collectives that this rank has issued in the default group."""
        if not dist.is_initialized():
            return None
        return begun(c10d._get_default_group())

    # ---- a fresh process, or one whose cell destroyed the group

    def _join(self, store: dist.Store, order: Form) -> None:
        self.init(store)
        world = c10d._world
        for name, ranks, description in order.groups:
            if name == WORLD_NAME or self.rank not in ranks:
                continue
            pg, _ = c10d._new_process_group_helper(
                len(ranks),
                ranks.index(self.rank),
                list(ranks),
                self.collectives,
                store,
                group_name=name,
                timeout=self.timeout,
                group_desc=description,
            )
            world.pg_group_ranks[pg] = {rank: index for index, rank in enumerate(ranks)}
        world.group_count = max(world.group_count, order.group_count)

    def init(self, store: dist.Store) -> None:
        """Make the default group."""
        # torch's own function: the one that tutorials call is ours by now
        c10d_init(
            self.collectives,
            store=store,
            rank=self.rank,
            world_size=self.size,
            timeout=self.timeout,
        )

    # ---- a survivor

    def _repoint(self, store: dist.Store, order: Form) -> tuple[str, ...]:
        world = c10d._world
        live = {world.pg_names[pg]: pg for pg in world.pg_map}
        if self._slot > LAST_SLOT:
            raise RuntimeError(
                f"the group was rebuilt {LAST_SLOT - FIRST_FREE_SLOT + 1} times; restart all ranks to go on"
            )
        for name, ranks, description in order.groups:
            pg = live.get(name)
            if pg is not None:
                self._replace_backend(pg, name, ranks, description, store)
        self._slot += len(self._devices())
        world.pg_coalesce_state.clear()
        world.group_count = max(world.group_count, order.group_count)
        return self._reset_models()

    def _devices(self) -> list[str]:
        return ["cpu", "cuda"] if "nccl" in self.collectives else ["cpu"]

    def _replace_backend(
        self, pg: Any, name: str, ranks: tuple[int, ...], description: str, store: dist.Store
    ) -> None:
        world = c10d._world
        prefix = dist.PrefixStore(f"{name}/", store)
        members = list(ranks) if name != WORLD_NAME else []
        for offset, device in enumerate(self._devices()):
            if device == "cpu":
                backend: Any = self._gloo(prefix, pg, members, name)
                targets = [d for d in pg._device_types if d.type == "cpu" or "nccl" not in self.collectives]
            else:
                backend = self._nccl(prefix, pg, members, name)
                targets = [d for d in pg._device_types if d.type == "cuda"]
            backend._set_sequence_number_for_group()
            kind = dist.ProcessGroup.BackendType(self._slot + offset)
            for target in targets:
                pg._register_backend(target, kind, backend)
        # both live in the back-end
        pg._set_group_name(name)
        pg._set_group_desc(description)
        world.pg_map[pg] = (world.pg_map[pg][0], prefix)

    def _gloo(self, store: dist.Store, pg: Any, members: list[int], name: str) -> Any:
        options = dist.ProcessGroupGloo._Options()
        if self._device is None:
            # one listener and one loop thread for all generations: old back-ends are never freed
            interface = os.environ["GLOO_SOCKET_IFNAME"].split(",")[0]
            self._device = dist.ProcessGroupGloo.create_device(interface=interface)
        options._devices = [self._device]
        options._threads = 1
        options._timeout = self.timeout
        options.global_ranks_in_group = members
        options.group_name = name
        with self._sockets.watch():
            return dist.ProcessGroupGloo(dist.PrefixStore("cpu/", store), pg.rank(), pg.size(), options)

    def _nccl(self, store: dist.Store, pg: Any, members: list[int], name: str) -> Any:
        options = dist.ProcessGroupNCCL.Options()
        options._timeout = self.timeout
        options.global_ranks_in_group = members
        options.group_name = name
        return dist.ProcessGroupNCCL(dist.PrefixStore("cuda/", store), pg.rank(), pg.size(), options)

    @property
    def models(self) -> list[Any]:
        """DDP models that are alive."""
        return list(self._models)

    def _reset_models(self) -> tuple[str, ...]:
        left: list[str] = []
        for module in list(self._models):
            try:
                reset_ddp(module)
            except (RuntimeError, AttributeError) as error:
                left.append(f"{type(module).__name__}: {error}")
        # fully_shard swaps a module's class, so its models are found by what they are
        for module in fsdp_roots():
            module.reset_iter_state()
        return tuple(left)


c10d_init = c10d.init_process_group
