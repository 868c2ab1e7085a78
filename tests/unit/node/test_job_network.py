"""The network of a world: a job's ranks use the interfaces that a cluster on the same nodes would use."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from dtrain_lab.head.nodes.network import Network
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine.facts import PACKAGES
from dtrain_lab.machine.net import collectives_interface
from dtrain_lab.node import job_network
from dtrain_lab.placement.network import COLLECTIVES
from dtrain_lab.wire import links
from dtrain_lab.wire.node_check import Check, Interface, NodeInterfaces
from dtrain_lab.wire.plan import NodeFacts

VERSIONS = {"python": "3.12.1", **dict.fromkeys(PACKAGES, "1.0")}
DOCKER = Interface("docker0", "172.17.0.1", 16, 10_000)
FAST = [
    (DOCKER, Interface("eth0", "10.0.0.1", 24, 1000), Interface("ib0", "192.168.5.1", 24, 100_000)),
    (DOCKER, Interface("ens3", "10.0.0.2", 24, 1000), Interface("ibs1", "192.168.5.2", 24, 100_000)),
]
IPV6 = [(Interface("e", "fd00::1", 64),), (Interface("f", "fd00::2", 64),)]
ROUTED = [
    (Interface("x", "10.1.0.1", 24), Interface("y", "10.2.0.1", 24, 20)),
    (Interface("z", "10.3.0.1", 24),),
]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*COLLECTIVES, "MASTER_ADDR", "DTRAIN_PEER", "TORCHELASTIC_USE_AGENT_STORE"):
        monkeypatch.setenv(name, "")  # so that the test takes back what is set below
        monkeypatch.delenv(name)


def collected(folder: Path, nodes: list[tuple[Interface, ...]]) -> None:
    """Write what the job's script has asked the nodes, in no order."""
    lines = [msgspec.json.encode(NodeInterfaces(index, of)) for index, of in enumerate(nodes)]
    (folder / job_files.INTERFACES).write_bytes(b"\n".join(reversed(lines)) + b"\n")


def of_cluster(nodes: list[tuple[Interface, ...]]) -> dict[int, Interface]:
    """Interfaces that the head of a cluster on these nodes chooses."""
    head = Network(len(nodes), None, None, lambda *_: None, lambda: None, pytest.fail)
    for index, interfaces in enumerate(nodes):
        facts = NodeFacts(f"n{index}", "", 4, 0, 1 << 33)
        check = Check(facts, "", VERSIONS, files=1 << 20, interfaces=interfaces)
        head.joined(links.NodeHello(index, facts.name, 1, 1, check=check))
    return head.chosen


@pytest.mark.parametrize("nodes", [FAST, IPV6, ROUTED])
def test_the_ranks_of_a_job_use_the_network_of_a_cluster_there(
    nodes: list[tuple[Interface, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected(tmp_path, nodes)
    cluster = of_cluster(nodes)
    assert job_network.chosen_interfaces(tmp_path) == cluster
    for node, interface in cluster.items():
        for name in COLLECTIVES:
            monkeypatch.delenv(name, raising=False)
        job_network.use(tmp_path, node)
        assert {os.environ[name] for name in COLLECTIVES} == {interface.name}


def test_the_users_own_interface_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected(tmp_path, FAST)
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "ens9")
    job_network.use(tmp_path, 1)
    assert [os.environ[name] for name in COLLECTIVES] == ["ibs1", "ens9", "ibs1"]


@pytest.mark.parametrize("content", [None, b"", b"{", b"srun: error\n"])
def test_without_the_interfaces_of_the_nodes_it_is_the_way_to_the_others(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is not None:
        (tmp_path / job_files.INTERFACES).write_bytes(content)
    monkeypatch.setenv("MASTER_ADDR", "10.0.0.1")
    monkeypatch.setattr(job_network, "interface_to", lambda address: {"10.0.0.1": "eth7"}.get(address))
    job_network.use(tmp_path, 1)
    assert {os.environ[name] for name in COLLECTIVES} == {"eth7"}


def test_ranks_of_one_node_use_loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectives_interface, "_loopback", lambda: "lo")
    job_network.use(tmp_path, 0)
    assert os.environ["GLOO_SOCKET_IFNAME"] == "lo"
    assert "NCCL_SOCKET_IFNAME" not in os.environ
