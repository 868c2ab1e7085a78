"""What a node does as a whole, by counters that the test moves and by those of this machine."""

from __future__ import annotations

import socket

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


def test_this_machine_says_how_often_it_was_hot_or_that_it_does_not_know() -> None:
    count = throttle_count()
    assert count is None or count >= 0


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
    assert (host.runnable_threads() or 1) >= 1
