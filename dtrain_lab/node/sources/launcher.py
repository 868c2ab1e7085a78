"""The rank that a launcher (`srun`, `torchrun`) has placed here, read from its environment.

Without a launcher, the arguments say which ranks this node makes.
"""

from __future__ import annotations

import fcntl
import ipaddress
import os
import re
import socket
import struct

from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs.environment_variables import JobEnvironment
from dtrain_lab.placement.frameworks import ascend

SIOCGIFADDR = 0x8915
"""Linux ioctl for the IPv4 address of an interface; psutil would take 30 ms for it."""


def ranks(arguments: list[str]) -> tuple[int, list[tuple[int, int]], int]:
    """Ranks to run here.

    Args:
        arguments: NODE and RANKS (the number of ranks per node); empty under a launcher.

    Returns:
        Index of this node, rank and local rank of each of its ranks, and the world size.
    """
    if arguments:
        node, count = int(arguments[0]), int(arguments[1])
        size = int(os.environ[environment_variables.SIZE])
        return node, [(node * count + local, local) for local in range(count)], size
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    # torchrun sets the node's index as GROUP_RANK
    node = int(os.environ.get("NODE_RANK") or os.environ.get("GROUP_RANK") or "0")
    return node, [(rank, local)], int(os.environ["WORLD_SIZE"])


def own_address(peer: str) -> str | None:
    """Address by which this node reaches another one; None if it can't be resolved."""
    try:
        family, _, _, _, address = socket.getaddrinfo(peer, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError:
        return None


def choose_rendezvous(node: int) -> None:
    """Set MASTER_ADDR on the first of several nodes to the address at which the others reach it.

    Rank 0 listens at this address only; torchrun's agents keep a store of their own. The node's own name may
    resolve to loopback on the node itself (Debian's installer writes `127.0.1.1 NAME` into /etc/hosts), or to
    an address that no interface of it has. Other nodes on this machine resolve it in the same way.

    Args:
        node: index of this node.

    Raises:
        SystemExit: The name does not lead here, and the other node can't be resolved.
    """
    name, peer = os.environ.get("MASTER_ADDR", ""), JobEnvironment.from_environ().peer
    if node or not name or not peer or os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return
    if _is_reachable(name):
        return
    own = own_address(peer)
    if own is None:
        raise SystemExit(
            f"{name} resolves to no address of this host that other hosts can reach, "
            f"and {peer} to none at all. Add both to /etc/hosts or to the DNS."
        )
    if not ipaddress.ip_address(own).is_loopback:
        os.environ["MASTER_ADDR"] = own


def _is_reachable(name: str) -> bool:
    """Whether a name resolves here to an address of one of this host's networks."""
    try:
        family, _, _, _, address = socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as probe:
            probe.bind(address)
    except OSError:
        return False
    return not ipaddress.ip_address(address[0]).is_loopback


def interface_to(address: str) -> str | None:
    """Name of the interface through which this node reaches an address; None for loopback."""
    mine = own_address(address)
    if mine is None:
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asked, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:  # an interface without an address
                continue
            if socket.inet_ntoa(answer[20:24]) == mine:
                return name if not re.fullmatch(r"lo\d*", name) else None
    return None


def choose_interface(node: int) -> None:
    """Set the interface that reaches the peers; gloo's guess by host name may be loopback."""
    job = JobEnvironment.from_environ()
    peer = os.environ.get("MASTER_ADDR", "127.0.0.1") if node else job.peer
    name = interface_to(peer) if peer else None
    if name is None and (node == 0 and not peer):
        name = "lo"
    if name is not None:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
        if name != "lo":
            os.environ.setdefault("NCCL_SOCKET_IFNAME", name)
            if job.accelerator == "npu":
                os.environ.setdefault(ascend.INTERFACE, name)
