"""torch.distributed.rpc among the ranks: makes `init_rpc` use the ranks' own store.

By default RPC opens a store at MASTER_PORT. In a job that port is taken, and when RPC is started a second
time the ranks may find the first RPC's store and wait forever.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist

from dtrain_lab.errors import Conflict
from dtrain_lab.rank.import_hooks import after_import
from dtrain_lab.rank.init_process_group import ExistingGroup
from dtrain_lab.rank.torch import references
from dtrain_lab.text.units import counted

SCHEME = "dtrain-rank"
USUAL = ("", "env://")


def install(group: ExistingGroup) -> None:
    """Make `rpc.init_rpc` use the ranks' store, once the user imports RPC."""

    sessions = Sessions()

    def rendezvous(url: str, **_: Any) -> Iterator[tuple[dist.Store, int, int]]:
        yield dist.PrefixStore(sessions.name, group.store), group.rank, group.size

    dist.register_rendezvous_handler(SCHEME, rendezvous)
    after_import("torch.distributed.rpc", functools.partial(_answer, group, sessions))


def _answer(group: ExistingGroup, sessions: Sessions, module: ModuleType) -> None:
    rpc: Any = module
    if not hasattr(rpc, "init_rpc"):  # this build of torch has no RPC
        return
    usual, ends = rpc.init_rpc, rpc.shutdown

    @functools.wraps(usual)
    def init_rpc(
        name: str,
        backend: Any = None,
        rank: int = -1,
        world_size: int | None = None,
        rpc_backend_options: Any = None,
    ) -> None:
        if world_size not in (None, group.size):
            processes = counted(world_size or 0, "process", "processes")
            raise Conflict(
                f"init_rpc asks for {processes}; {counted(group.size, 'rank is', 'ranks are')} there.",
                f"Give world_size as {group.size}.",
                code="world_size_differs",
            )
        options = rpc_backend_options or rpc.TensorPipeRpcBackendOptions()
        if options.init_method in USUAL:
            options.init_method = f"{SCHEME}://"
        sessions.begin()
        usual(name, backend, group.rank if rank == -1 else rank, group.size, options)

    @functools.wraps(ends)
    def shutdown(graceful: bool = True, timeout: float = 0) -> None:
        with sessions.ending(together=graceful):
            ends(graceful, timeout)

    rpc.init_rpc, rpc.shutdown = init_rpc, shutdown


class Sessions:
    """RPC sessions of this process. Each process numbers their ends; torch waits where numbers differ."""

    def __init__(self) -> None:
        self._begun = self._ended = 0
        self.name = "rpc"
        """Prefix of this session's keys in the store, where those of earlier ones remain."""

    def begin(self) -> None:
        """Called before RPC begins; a collective.

        Raises:
            Conflict: ranks have ended different sessions: this one could never end.
        """
        self._begun += 1
        if self._begun == 2:
            references.shut_down_soon()
        mine = torch.tensor([self._ended, time.time_ns()])
        every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(every, mine)
        self.name = f"rpc/{int(every[0][1])}"
        if any(int(ended) != self._ended for ended, _ in every):
            raise Conflict(
                "The ranks did not shut down RPC together, because of an interrupt, an error or a restart of "
                "one of them; torch can't start RPC again in these processes.",
                "Restart them: %distributed restart",
                code="rpc_not_ended",
            )

    @contextmanager
    def ending(self, *, together: bool) -> Iterator[None]:
        """Count an end of RPC.

        Args:
            together: whether the ranks end it together.
        """
        try:
            yield
        except BaseException:
            self._ended = -1 - dist.get_rank()  # it is unknown how far RPC has come
            raise
        if together and self._ended >= 0:
            self._ended += 1
