"""The address of a job's rendezvous: where other nodes reach the first one, whatever its own name is."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest

from dtrain_lab.node.sources import launcher

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
    monkeypatch.setattr(launcher, "own_address", lambda peer: address if peer == "node2" else None)


@pytest.mark.parametrize("own_name", [LOOPBACK, ELSEWHERE, None])
def test_a_name_that_does_not_lead_here_is_replaced(
    names: dict[str, str], monkeypatch: pytest.MonkeyPatch, own_name: str | None
) -> None:
    names.update({"node1": own_name} if own_name else {})
    on_the_way(monkeypatch, "10.0.0.1")
    launcher.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "10.0.0.1"


def test_a_name_is_kept_where_it_leads_to_the_right_address(
    names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names["node1"] = LOOPBACK
    on_the_way(monkeypatch, LOOPBACK)
    launcher.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "node1", "all nodes are on this machine"
    on_the_way(monkeypatch, "10.0.0.1")
    launcher.choose_rendezvous(1)
    assert os.environ["MASTER_ADDR"] == "node1", "another node"
    monkeypatch.setattr(launcher, "_is_reachable", lambda name: True)
    launcher.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "node1", "its own network's"
    monkeypatch.setattr(launcher, "_is_reachable", lambda name: False)
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    launcher.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "node1", "torchrun's"
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE")
    monkeypatch.setenv("DTRAIN_PEER", "")
    launcher.choose_rendezvous(0)
    assert os.environ["MASTER_ADDR"] == "node1", "one node"


def test_where_nothing_leads_anywhere_the_job_says_so(
    names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names["node1"] = LOOPBACK
    with pytest.raises(SystemExit, match=r"node1 resolves to no address of this host .* node2 to none"):
        launcher.choose_rendezvous(0)


def test_the_way_to_a_peer_has_an_address() -> None:
    assert launcher.own_address("127.0.0.1") == "127.0.0.1"
    assert launcher.own_address("localhost") in ("127.0.0.1", "::1")
