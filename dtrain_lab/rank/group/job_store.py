"""The rendezvous store of a job's ranks: kept by torchrun's agents, or by rank 0."""

from __future__ import annotations

import os
import socket
from typing import Any


def under_torchrun() -> bool:
    """Whether torchrun started this process and keeps a store for it."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == str(True)


def agents_store(name: str) -> Any:
    """torchrun's store, with a prefix for this group and attempt.

    On a single node, torchrun keeps one store over all restarts (torch 2.13: that of its own rendezvous).
    With the same keys, gloo would find addresses of processes that have ended: "Connection refused".

    Args:
        name: a name not used before in this job, the same on all ranks.

    Returns:
        The store; None if torchrun did not start this process.
    """
    import torch.distributed as dist

    if not under_torchrun():
        return None
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"dtrain/attempt{attempt}/{name}", store)


def init(original: Any, collectives: str, name: str) -> Any:
    """Make the default group of a job's rank.

    Args:
        original: torch's `init_process_group`.
        collectives: back-ends of the group, as torch names them.
        name: name of the group for `agents_store`.

    Returns:
        The rendezvous store of the ranks.
    """
    store = agents_store(name) or first_ranks_store()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    original(collectives, store=store, rank=rank, world_size=size)
    return store


def first_ranks_store() -> Any:
    """A store kept by rank 0, as torch's `env://` makes one, but bound to one address.

    torch's own store listens on every interface without authentication.

    Raises:
        OSError: Rank 0 can't listen there.
    """
    import torch.distributed as dist

    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    first = os.environ["RANK"] == "0"
    size = int(os.environ["WORLD_SIZE"])
    if not first:
        return dist.TCPStore(host, port, size, is_master=False)
    # torch closes the descriptor
    listening = _listen(host, port).detach()
    return dist.TCPStore(host, port, size, is_master=True, master_listen_fd=listening)


def _listen(host: str, port: int) -> socket.socket:
    """Listen at the address that other ranks connect to: the node's agent has made MASTER_ADDR lead to it."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    try:
        return socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} (rendezvous of the ranks, {host}:{port})") from error
