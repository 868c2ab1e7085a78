"""Starts a fork server: for a cluster's agent (`channel FD`), or for the agents of trials (`listen PATH`).

OMP_NUM_THREADS and the like must be 1 in its environment (`start`).
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys

from dtrain_lab.machine import processes
from dtrain_lab.node.forkserver import loading
from dtrain_lab.node.forkserver.server import ForkServer


def channel(descriptor: int) -> None:
    """Serve the agent at the other end of a socketpair, and end with it.

    Args:
        descriptor: Our end.
    """
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    processes.end_with_parent(signal.SIGTERM)
    processes.adopt_orphans()
    ForkServer(channel=socket.socket(fileno=descriptor)).run(loading.for_clusters)


def listen(path: str) -> None:
    """Serve the agents that connect to a socket, until none has been connected for a while.

    Args:
        path: Path of the socket; beside it is a lock, so that only one process serves.
    """
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another trial was first
        return
    processes.end_with_parent(0)
    ForkServer(path=path).run(loading.for_scripts)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["channel", number]:
            channel(int(number))
        case ["listen", at]:
            listen(at)
        case _:
            sys.exit("Usage: python -m dtrain_lab.node.forkserver channel FD | listen PATH")
