"""The address of a job's rendezvous: where other nodes reach the first one, whatever its own name is."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from dtrain_lab.node import job_network

LOOPBACK, ELSEWHERE = "127.0.1.1", "203.0.113.7"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What names resolve to; this machine is 127.0.0.0/8 for all of them."""
    known: dict[str, str] = {}

    def resolve(name: str, port: int, **_: Any) -> list[Any]:
        if name not in known:
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (known[name], port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE", raising=False)
    monkeypatch.setenv("MASTER_ADDR", "node1")
    monkeypatch.setenv("DTRAIN_PEER", "node2")
    return known


def on_the_way(monkeypatch: pytest.MonkeyPatch, address: str | None) -> None:
    monkeypatch.setattr(job_network, "own_address", lambda peer: address if peer == "node2" else None)


@pytest.mark.parametrize("own_name", [LOOPBACK, ELSEWHERE, None])
def test_a_name_that_does_not_lead_here_is_replaced(
    names: dict[str, str], monkeypatch: pytest.MonkeyPatch, own_name: str | None
) -> None:
    names.update({"node1": own_name} if own_name else {})
    on_the_way(monkeypatch, "10.0.0.1")
    job_network.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "10.0.0.1"


def test_a_name_is_kept_where_it_leads_to_the_right_address(
    names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names["node1"] = LOOPBACK
    on_the_way(monkeypatch, LOOPBACK)
    job_network.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "node1", "all nodes are on this machine"
    on_the_way(monkeypatch, "10.0.0.1")
    job_network.choose_rendezvous(1)
    assert os.environ["MASTER_ADDR"] == "node1", "another node"
    monkeypatch.setattr(job_network, "_is_reachable", lambda name: True)
    job_network.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "node1", "its own network's"
    monkeypatch.setattr(job_network, "_is_reachable", lambda name: False)
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    job_network.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "node1", "torchrun's"
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE")
    monkeypatch.setenv("DTRAIN_PEER", "")
    job_network.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "node1", "one node"


def test_where_nothing_leads_anywhere_the_job_says_so(
    names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names["node1"] = LOOPBACK
    with pytest.raises(
        SystemExit, match=r"node1 resolves to no address of this host .* node2 resolves to no address at all"
    ):
        job_network.choose_rendezvous(0)


def test_the_way_to_a_peer_has_an_address() -> None:
    assert job_network.own_address("127.0.0.1") == "127.0.0.1"
    assert job_network.own_address("localhost") in ("127.0.0.1", "::1")


@pytest.mark.parametrize(
    ("own", "interface"),
    [("2001:db8::7", "ib0"), ("fe80::1%eth0", "eth0"), ("::1", None), ("2001:db8::9", None)],
)
def test_the_interface_of_an_ipv6_address(
    own: str, interface: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "if_inet6"  # as Linux writes it
    table.write_text(
        "00000000000000000000000000000001 01 80 10 80       lo\n"
        "20010db8000000000000000000000007 03 40 00 80      ib0\n"
        "fe800000000000000000000000000001 02 40 20 80     eth0\n"
    )
    monkeypatch.setattr(job_network, "IPV6_INTERFACES", table)
    monkeypatch.setattr(job_network, "own_address", lambda peer: own)
    assert job_network.interface_to("node2") == interface
