"""The rendezvous store of a job's ranks: kept by torchrun's agents, or by rank 0."""

from __future__ import annotations

import os
import socket
from typing import Any


def under_torchrun() -> bool:
    """Whether torchrun started this process and keeps a store for it."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == str(True)


def agents_store(name: str) -> Any:
    """torchrun's store, with a prefix for this group and restart.

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
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"dtrain/restart{restart}/{name}", store)


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
    """
    import torch.distributed as dist

    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    first = os.environ["RANK"] == "0"
    listening = _listen(host, port) if first else None
    return dist.TCPStore(
        host,
        port,
        int(os.environ["WORLD_SIZE"]),
        is_master=first,
        multi_tenant=listening is None,
        # torch closes it
        master_listen_fd=listening.detach() if listening is not None else None,
    )


def _listen(host: str, port: int) -> socket.socket | None:
    """Listen at the address that other ranks connect to; None if this host can't tell which one it is."""
    alone = os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"]
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    loopback = str(address[0]).startswith("127.") or address[0] == "::1"
    if loopback and not alone and host not in ("localhost", "127.0.0.1", "::1"):
        return None  # this host's /etc/hosts maps its own name to loopback; other hosts see another address
    try:
        return socket.create_server(address, family=family, backlog=2048)
    except OSError:  # the name leads here through an address of another machine
        return None
