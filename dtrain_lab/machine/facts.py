"""What this machine has: CPUs, GPUs, memory, interfaces, versions and limits."""

from __future__ import annotations

import ipaddress
import os
import platform
import resource
import socket
import sys
import tempfile
from importlib import metadata

import psutil

from dtrain_lab.machine import cgroup, gpus
from dtrain_lab.machine.folders import slots_folder
from dtrain_lab.wire.node_check import Check, Interface
from dtrain_lab.wire.plan import NodeFacts

PACKAGES = ("dtrain-lab", "torch", "ipyparallel", "ipykernel", "tensorflow", "mindspore", "torch_npu")
OTHER_BUILDS = {"tensorflow": ("tensorflow-cpu",)}
"""Packages that contain the same module."""


def local_facts() -> NodeFacts:
    """CPUs this process may use, GPUs it may see, and the memory limit of the machine or cgroup, in bytes."""
    return NodeFacts(
        name=socket.gethostname().split(".")[0],
        address="127.0.0.1",
        cpus=_cpus(),
        gpus=len(gpus.usable()),
        memory_bytes=_memory(),
    )


def _cpus() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup.cpu_quota(cgroup.folders("cpu"))
    return allowed if quota is None else max(1, min(allowed, round(quota)))


def _memory() -> int:
    total = int(psutil.virtual_memory().total)
    limit = cgroup.memory_limit(cgroup.folders("memory"))
    return total if limit is None else min(total, limit)


def interfaces() -> tuple[Interface, ...]:
    """Addresses of interfaces that are up; loopback and link-local ones are left out."""
    stats = psutil.net_if_stats()
    listed = []
    for name, addresses in psutil.net_if_addrs().items():
        if name not in stats or not stats[name].isup:
            continue
        for entry in addresses:
            if entry.family not in (socket.AF_INET, socket.AF_INET6) or "%" in entry.address:
                continue
            address = ipaddress.ip_address(entry.address)
            if address.is_loopback or address.is_link_local:
                continue
            network = ipaddress.ip_network(f"{address}/{_prefix(entry.netmask)}", strict=False)
            listed.append(Interface(name, str(address), network.prefixlen, stats[name].speed))
    return tuple(listed)


def _prefix(netmask: str | None) -> str:
    """Prefix length of a netmask; psutil gives IPv6 masks as addresses, too."""
    if netmask is None:
        return "32"
    if ":" in netmask:
        return str(bin(int(ipaddress.IPv6Address(netmask))).count("1"))
    return netmask


def check(workdir: str | None = None) -> Check:
    """Describe this node for `placement.compatibility`; package versions are looked up without an import.

    Args:
        workdir: A folder that has to be writable here.
    """
    shm = psutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else 0
    return Check(
        facts=local_facts(),
        python=sys.executable,
        versions={"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        driver=_driver(),
        shm_bytes=shm,
        files=_limit(resource.RLIMIT_NOFILE),
        processes=_limit(resource.RLIMIT_NPROC),
        interfaces=interfaces(),
        workdir_problem=_unwritable(workdir) if workdir else "",
        tickets=str(slots_folder()),
    )


def _unwritable(folder: str) -> str:
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        return f"{folder}: {error.strerror}"
    return ""


def _limit(kind: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return 1 << 30 if hard == resource.RLIM_INFINITY else hard


def _version(package: str) -> str:
    for name in (package, *OTHER_BUILDS.get(package, ())):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


def _driver() -> str:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ""
    try:
        return str(pynvml.nvmlSystemGetDriverVersion())
    finally:
        pynvml.nvmlShutdown()
