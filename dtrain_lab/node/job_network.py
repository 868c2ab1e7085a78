"""The network of a job's ranks: which interface each node uses, and where rank 0 is reached.

It is chosen as for a cluster (`placement.network.choose`): for a scheduler's job here, by the interfaces that
its script has collected from all nodes; for a job on hosts, as it was planned, whose addresses are in that
network. Where neither is known, it is the way to the other nodes.
"""

from __future__ import annotations

import fcntl
import ipaddress
import os
import re
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

import msgspec

from dtrain_lab.errors import StartFailed
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.environment_variables import JobEnvironment
from dtrain_lab.machine.net import collectives_interface
from dtrain_lab.placement import network
from dtrain_lab.wire.node_check import Interface, NodeInterfaces

SIOCGIFADDR = 0x8915
"""Linux ioctl for the IPv4 address of an interface; psutil would take 30 ms for it."""
IPV6_INTERFACES = Path("/proc/net/if_inet6")
"""Linux table of the IPv6 addresses of all interfaces."""


def use(folder: Path, node: int) -> None:
    """Set the interface of this node's ranks where the user has set none, and the address of rank 0.

    Args:
        folder: The job's folder.
        node: Index of this node.

    Raises:
        SystemExit: Rank 0 is here, and no address is known at which other nodes reach it.
    """
    chosen = chosen_interfaces(folder)
    peer = JobEnvironment.from_environ().peer if node == 0 else os.environ.get("MASTER_ADDR", "127.0.0.1")
    if node in chosen:
        collectives_interface.use(chosen[node].name)
    elif not peer:
        collectives_interface.use(None)
    elif (interface := interface_to(peer)) is not None:
        collectives_interface.use(interface)
    choose_rendezvous(node)


def chosen_interfaces(folder: Path) -> Mapping[int, Interface]:
    """Return the interface of each node of a scheduler's job, by its index; empty if that is not known.

    Args:
        folder: The job's folder, in which its script has collected the interfaces of all nodes.
    """
    try:
        lines = (folder / job_files.INTERFACES).read_bytes().splitlines()
        nodes = [msgspec.json.decode(line, type=NodeInterfaces) for line in lines if line.startswith(b"{")]
        chosen = network.choose({str(one.node): one.interfaces for one in nodes}) if nodes else {}
    except (OSError, msgspec.DecodeError, StartFailed):
        return {}
    return {int(node): interface for node, interface in chosen.items()}


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
            f"and {peer} resolves to no address at all. Add both names to /etc/hosts or to the DNS."
        )
    if not ipaddress.ip_address(own).is_loopback:
        os.environ["MASTER_ADDR"] = own


def own_address(peer: str) -> str | None:
    """Address by which this node reaches another one; None if it can't be resolved."""
    try:
        family, _, _, _, address = socket.getaddrinfo(peer, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError:
        return None


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
    own = ipaddress.ip_address(mine.partition("%")[0])
    name = _interface_of_ipv4(str(own)) if own.version == 4 else _interface_of_ipv6(own)
    return name if name is not None and not re.fullmatch(r"lo\d*", name) else None


def _interface_of_ipv4(own: str) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asked, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:  # an interface without an address
                continue
            if socket.inet_ntoa(answer[20:24]) == own:
                return name
    return None


def _interface_of_ipv6(own: ipaddress.IPv6Address) -> str | None:
    try:
        lines = IPV6_INTERFACES.read_text().splitlines()
    except OSError:  # no Linux
        return None
    entries = [line.split() for line in lines]  # address, index, prefix length, scope, flags, name
    return next((entry[5] for entry in entries if int(entry[0], 16) == int(own)), None)
