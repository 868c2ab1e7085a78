"""What a node does as a whole, by counters that the test moves and by those of this machine."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from dtrain_lab.node.samples import host
from dtrain_lab.node.samples.host import Host, network_bytes, throttle_count


def test_rates_are_of_the_time_since_the_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, traffic = [100.0], [(1000, 5000)]
    monkeypatch.setattr(host.time, "monotonic", lambda: clock[0])
    watched = Host(lambda: traffic[0], lambda: None)
    clock[0], traffic[0] = 102.0, (3000, 5000)
    use = watched.use()
    assert (use.sent_bytes_per_s, use.received_bytes_per_s) == (1000, 0)
    clock[0], traffic[0] = 103.0, (0, 0)  # a card was taken away
    use = watched.use()
    assert (use.sent_bytes_per_s, use.received_bytes_per_s) == (0, 0)
    assert use.throttled == ""


def test_heat_is_told_while_the_count_of_throttling_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, count = [0.0], [7]
    monkeypatch.setattr(host.time, "monotonic", lambda: clock[0])
    watched = Host(lambda: (0, 0), lambda: count[0])
    assert watched.use().throttled == ""
    clock[0], count[0] = 6.0, 9
    assert watched.use().throttled == "heat"
    clock[0] = 7.0
    assert watched.use().throttled == "heat", "looked at now and then, not at each tick"
    clock[0] = 12.0
    assert watched.use().throttled == ""


def test_what_goes_over_loopback_is_not_the_network() -> None:
    sent, _ = network_bytes()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        peer, _ = server.accept()
        size = 8 * 2**20
        peer.setblocking(False)
        gone = 0
        while gone < size:
            gone += client.send(bytes(2**16))
            try:
                while peer.recv(2**20):
                    pass
            except BlockingIOError:
                continue
        peer.close()
    assert network_bytes()[0] - sent < size


def test_hot_moments_of_all_cores_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "PROCESSORS", tmp_path)
    assert throttle_count() is None, "a kernel that does not count them"
    for core, count in enumerate((3, 4)):
        folder = tmp_path / f"cpu{core}" / "thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_count").write_text(f"{count}\n")
    assert throttle_count() == 7


def test_runnable_threads_are_read_from_the_kernels_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "LOAD", tmp_path / "loadavg")
    assert host.runnable_threads() is None
    (tmp_path / "loadavg").write_text("1.00 0.50 0.25 5/812 4711\n")
    assert host.runnable_threads() == 5


def test_network_bytes_are_those_of_cards_and_infiniband(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent_received = {"lo": (7, 7), "veth1": (50, 60), "eth0": (100, 200)}
    counters = {n: SimpleNamespace(bytes_sent=s, bytes_recv=r) for n, (s, r) in sent_received.items()}
    monkeypatch.setattr(host.psutil, "net_io_counters", lambda pernic: counters)
    monkeypatch.setattr(host, "NETWORK", tmp_path / "net")
    monkeypatch.setattr(host, "INFINIBAND", tmp_path / "infiniband")
    assert network_bytes() == (150, 260), "no card: what a container has"
    (tmp_path / "net" / "eth0" / "device").mkdir(parents=True)
    assert network_bytes() == (100, 200), "a container's traffic goes through the card, too"
    port = tmp_path / "infiniband" / "mlx5_0" / "ports" / "1" / "counters"
    port.mkdir(parents=True)
    (port / "port_xmit_data").write_text("10\n")
    (port / "port_rcv_data").write_text("20\n")
    assert network_bytes() == (140, 280), "it counts words of four bytes"


def test_threads_that_want_a_core_are_told_smoothly_and_without_the_one_that_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, count = [0.0], [3]
    monkeypatch.setattr(host.time, "monotonic", lambda: clock[0])
    watched = Host(lambda: (0, 0), lambda: None, lambda: count[0])
    clock[0] = 0.25
    assert watched.use().runnable == 2
    count[0] = 13
    clock[0] = 0.5
    once = watched.use().runnable
    assert once is not None
    assert 2 < once < 3, "one look is luck"
    for _ in range(200):
        clock[0] += 0.25
        last = watched.use().runnable
    assert last == pytest.approx(12, rel=0.01)
