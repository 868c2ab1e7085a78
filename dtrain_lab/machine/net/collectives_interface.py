"""The network interface that gloo, NCCL and HCCL use in this process and in those that it starts."""

from __future__ import annotations

import os
import socket

from dtrain_lab.placement.network import COLLECTIVES, GLOO


def use(interface: str | None) -> None:
    """Set the interface of all of them, where the user has set none.

    Args:
        interface: Its name; None for ranks of one node, for which gloo uses the loopback interface.
    """
    if interface is None:
        os.environ.setdefault(GLOO, _loopback())
        return
    for name in COLLECTIVES:
        os.environ.setdefault(name, interface)


def _loopback() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name in ("lo", "lo0")), names[0])
