"""A channel is handed on from one process' loop to another's; who waits in vain does not wait long."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dtrain_lab.machine import processes
from dtrain_lab.node.forkserver import client, handover, messages
from dtrain_lab.node.forkserver.client import ForkServerClient


def test_the_channel_arrives_where_it_is_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "heir")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    async def both() -> handover.Inherited | None:
        sent, received = await asyncio.gather(
            handover.send(path, handover.Inherited(ours, 17, 3.5), time.monotonic() + 30),
            handover.receive(path),
        )
        assert sent
        return received

    received = asyncio.run(both())
    assert received is not None
    assert (received.pid, received.began) == (17, 3.5)
    with received.channel, theirs:
        ours.close()
        received.channel.send(b"from the heir")
        assert theirs.recv(100) == b"from the heir"


def test_without_the_other_agent_neither_waits_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "HEIR_WITHIN_S", 0.05)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        server = handover.Inherited(ours, 17, 3.5)
        assert not asyncio.run(handover.send(str(tmp_path / "nobody"), server, time.monotonic() + 0.05))
        assert asyncio.run(handover.receive(str(tmp_path / "heir"))) is None


def test_a_socket_that_can_not_be_made_is_as_if_nobody_came(tmp_path: Path) -> None:
    assert asyncio.run(handover.receive(str(tmp_path / "no folder" / "heir"))) is None


async def until(true: Callable[[], bool], what: str) -> None:
    """Wait while the loop goes on."""
    end = time.monotonic() + 90
    while not true():
        assert time.monotonic() < end, f"waited in vain for {what}"
        await asyncio.sleep(0.02)


class Agent:
    """A real fork server's client, and what it has heard."""

    def __init__(self) -> None:
        self.news: list[messages.News] = []
        self.forks = ForkServerClient({}, self.news.append, lambda: None)

    def loaded(self) -> bool:
        return any(isinstance(n, messages.Loaded) for n in self.news)


def server_of(agent: Agent) -> tuple[int, float]:
    """Pid and start time of an agent's fork server."""
    found = agent.forks._server
    assert found is not None
    return found


@pytest.mark.processes
def test_a_fork_server_that_was_handed_on_can_be_ended_where_it_does_not_read(tmp_path: Path) -> None:
    path, log = str(tmp_path / "heir"), str(tmp_path / "log")

    async def handed_on() -> tuple[int, float]:
        first, second = Agent(), Agent()
        first.forks.start(log)
        server = server_of(first)
        try:
            await until(first.loaded, "the fork server to load")
            handed, _ = await asyncio.gather(first.forks.hand_on(path), second.forks.take_over(path, log))
            assert handed
            assert server_of(second) == server
            assert second.loaded()
        finally:
            if first.forks._channel is not None:
                first.forks.end()
            os.kill(server[0], signal.SIGSTOP)
            second.forks.end()
        return server

    assert processes.gone(*asyncio.run(handed_on()), within_s=30)


@pytest.mark.processes
def test_who_gets_a_fork_server_that_does_not_answer_starts_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = str(tmp_path / "heir"), str(tmp_path / "log")
    monkeypatch.setattr(client, "HEIR_WITHIN_S", 0.2)

    async def handed_on() -> tuple[int, float]:
        first, second = Agent(), Agent()
        first.forks.start(log)
        server, channel = server_of(first), first.forks._channel
        try:
            await until(first.loaded, "the fork server to load")
            first.forks._order(messages.HandOverChannel(), [])  # it outlives an agent from now on
            await until(lambda: len(first.news) == 2, "its answer")
            os.kill(server[0], signal.SIGSTOP)
            assert channel is not None
            given = handover.Inherited(channel, *server)
            await asyncio.gather(
                handover.send(path, given, time.monotonic() + 60),
                second.forks.take_over(path, log),
            )
            assert processes.gone(*server, within_s=30)
            assert server_of(second) != server
            await until(second.loaded, "the new fork server to load")
        finally:
            first.forks.end()
            second.forks.end()
        return server

    asyncio.run(handed_on())


def test_a_pid_of_another_process_gets_no_signal(signals: list[tuple[int, ...]]) -> None:
    assert not processes.signal_process(os.getpid(), processes.started() - 100, signal.SIGKILL)
    assert not processes.signal_process(1, processes.started(1), signal.SIGKILL)
    assert signals == []
