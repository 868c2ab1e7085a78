"""The choice of a network: pure."""

from __future__ import annotations

import pytest

from dtrain_lab.errors import BadRequest, StartFailed
from dtrain_lab.placement import network
from dtrain_lab.wire.node_check import Interface


def test_each_node_gets_its_own_interface_of_the_fastest_shared_network() -> None:
    nodes = {
        "a": [Interface("eth0", "10.0.0.1", 24, 1000), Interface("ib0", "192.168.5.1", 24, 100_000)],
        "b": [Interface("ens3", "10.0.0.2", 24, 1000), Interface("ibs1", "192.168.5.2", 24, 100_000)],
    }
    chosen = network.choose(nodes)
    assert {n: i.name for n, i in chosen.items()} == {"a": "ib0", "b": "ibs1"}
    slow = network.choose({**nodes, "c": [Interface("eth7", "10.0.0.3", 24, 1000)]})
    assert {n: i.name for n, i in slow.items()} == {"a": "eth0", "b": "ens3", "c": "eth7"}


def test_nodes_without_the_wanted_interface_are_told_with_those_they_have() -> None:
    docker = Interface("docker0", "172.17.0.1", 16, 10_000)
    nodes = {
        "a": [docker, Interface("eth0", "10.0.0.1", 24), Interface("ib0", "192.168.5.1", 24)],
        "b": [docker, Interface("eth0", "10.0.0.2", 24)],
    }
    assert network.lacking(nodes, None) == {}
    assert network.lacking(nodes, "eth0") == {}
    assert network.lacking(nodes, "ib0") == {"b": ("eth0",)}
    assert network.lacking(nodes, "docker0") == {"a": ("eth0", "ib0"), "b": ("eth0",)}, "no way to any"


def test_an_address_that_all_nodes_have_is_no_way_to_any() -> None:
    docker = Interface("docker0", "172.17.0.1", 16, 10_000)
    nodes = {
        "a": [docker, Interface("eth0", "10.0.0.1", 24)],
        "b": [docker, Interface("eth0", "10.0.0.2", 24)],
    }
    assert {i.name for i in network.choose(nodes).values()} == {"eth0"}
    with pytest.raises(StartFailed, match="b has no network interface that other nodes could reach"):
        network.choose({**nodes, "b": [docker]})


def test_networks_without_a_common_subnet_may_be_routed() -> None:
    nodes = {"a": [Interface("x", "10.1.0.1", 24, 10), Interface("y", "10.2.0.1", 24, 20)]}
    nodes["b"] = [Interface("z", "10.3.0.1", 24)]
    assert {i.name for i in network.choose(nodes).values()} == {"y", "z"}


def test_ipv6_alone_works() -> None:
    nodes = {"a": [Interface("e", "fd00::1", 64)], "b": [Interface("f", "fd00::2", 64)]}
    assert network.choose(nodes)["b"].address == "fd00::2"


def test_the_profiles_interface_is_taken_or_named() -> None:
    nodes = {
        "a": [Interface("eth0", "10.0.0.1", 24, 10), Interface("ib0", "10.9.0.1", 24)],
        "b": [Interface("eth0", "10.0.0.2", 24, 10)],
    }
    assert network.choose({"a": nodes["a"]}, "ib0")["a"].address == "10.9.0.1"
    with pytest.raises(StartFailed, match="b has no network interface ib0") as error:
        network.choose(nodes, "ib0")
    assert "eth0" in error.value.hint


@pytest.mark.parametrize("text", ["x", "5-3", "20000", "70000-70100", "1-2-3", "-5"])
def test_bad_port_ranges(text: str) -> None:
    with pytest.raises(BadRequest, match="not a range of ports"):
        network.port_range(text)


def test_port_ranges() -> None:
    assert network.port_range(None) is None
    assert network.port_range("20000-20999") == range(20000, 21000)
    with pytest.raises(BadRequest, match="too few"):
        network.port_range("20000-20003")
