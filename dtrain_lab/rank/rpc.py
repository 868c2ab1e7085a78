"""torch.distributed.rpc among the ranks: makes `init_rpc` use the ranks' own store.

By default RPC opens a store at MASTER_PORT. In a job that port is taken, and when RPC is started a second
time the ranks may find the first RPC's store and wait forever.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Protocol

import torch.distributed as dist

from dtrain_lab.errors import Conflict
from dtrain_lab.rank.imports import after_import

SCHEME = "dtrain-rank"
USUAL = ("", "env://")


class World(Protocol):
    """The ranks that already run."""

    rank: int
    size: int

    @property
    def store(self) -> dist.Store:
        """The store that the ranks share."""


def install(world: World) -> None:
    """Make `rpc.init_rpc` use the ranks' store, once the user imports RPC."""

    def rendezvous(url: str, **_: Any) -> Iterator[tuple[dist.Store, int, int]]:
        yield dist.PrefixStore("rpc", world.store), world.rank, world.size

    dist.register_rendezvous_handler(SCHEME, rendezvous)
    after_import("torch.distributed.rpc", functools.partial(_answer, world))


def _answer(world: World, module: ModuleType) -> None:
    rpc: Any = module
    if not hasattr(rpc, "init_rpc"):  # this build of torch has no RPC
        return
    usual = rpc.init_rpc

    @functools.wraps(usual)
    def init_rpc(
        name: str,
        backend: Any = None,
        rank: int = -1,
        world_size: int | None = None,
        rpc_backend_options: Any = None,
    ) -> None:
        if world_size not in (None, world.size):
            raise Conflict(
                f"init_rpc asks for {world_size} processes; {world.size} ranks are there.",
                f"Give world_size as {world.size}.",
                code="world_size_differs",
            )
        options = rpc_backend_options or rpc.TensorPipeRpcBackendOptions()
        if options.init_method in USUAL:
            options.init_method = f"{SCHEME}://"
        usual(name, backend, world.rank if rank == -1 else rank, world.size, options)

    rpc.init_rpc = init_rpc
