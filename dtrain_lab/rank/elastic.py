"""The store of torchrun's agents, where a job's ranks find each other."""

from __future__ import annotations

import os
from typing import Any


def under_torchrun() -> bool:
    """Has torchrun made this process, and keeps a store for it?"""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == str(True)


def agents_store(name: str) -> Any:
    """torchrun's store under a name; None where no torchrun made this process.

    Alone on its node it keeps one store over all restarts (torch 2.13: that of its own rendezvous). Under
    the same names gloo would find the addresses of processes that are gone: "Connection refused".

    Args:
        name: that nobody has used in this job, the same on all ranks.
    """
    import torch.distributed as dist

    if not under_torchrun():
        return None
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"dtrain/restart{restart}/{name}", store)


def init(original: Any, collectives: str, name: str) -> None:
    """Make the default group of a job's rank.

    Args:
        original: torch's `init_process_group`.
        collectives: its back-ends.
        name: of this group, for `agents_store`.
    """
    store = agents_store(name)
    if store is None:
        original(collectives)
    else:
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        original(collectives, store=store, rank=rank, world_size=size)
