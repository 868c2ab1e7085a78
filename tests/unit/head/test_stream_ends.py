"""How streams begin and end: killed and hanging heads, forked children, and peers that don't read."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zmq

from dtrain_lab.head import sockets
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.head.requests import Requests
from dtrain_lab.head.sockets import Router
from dtrain_lab.machine import supervision
from dtrain_lab.machine.net.listener import Listener, connect
from dtrain_lab.machine.net.streams import Stream
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.codec import chunks


async def until(done: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not done():
            await asyncio.sleep(0)


async def test_a_head_starts_at_the_path_of_one_that_was_killed(tmp_path: Path) -> None:
    path = str(tmp_path / "link.s")
    killed = socket.socket(socket.AF_UNIX)
    killed.bind(path)
    killed.close()  # its file stays
    accepted: list[socket.socket] = []
    listener = Listener(path, accepted.append)
    made = connect(f"ipc://{tmp_path / 'link'}")
    assert made is not None
    await until(lambda: accepted)
    listener.close()
    assert not os.path.exists(path)
    made.close()
    accepted[0].close()


async def test_a_path_too_long_for_a_stream_leaves_zeromq(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    folder = Path(f"/tmp/dtrain-{os.getpid()}")
    folder /= "d" * (107 - len(str(folder)) - len("//link"))
    folder.mkdir(parents=True)
    try:
        router = Router(context, str(folder / "link"), lambda *_: None, lambda: None)
        assert "no stream socket" in caplog.text
        assert connect(router.url) is None
        router.close()
        context.term()
    finally:
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()
        folder.parent.rmdir()


async def test_a_head_that_does_not_accept_holds_nobody_up(tmp_path: Path) -> None:
    hangs = socket.socket(socket.AF_UNIX)
    hangs.bind(str(tmp_path / "client.s"))
    hangs.listen(0)
    url = f"ipc://{tmp_path / 'client'}"
    made: list[socket.socket | None] = []
    thread = threading.Thread(target=lambda: made.extend(connect(url) for _ in range(4)), daemon=True)
    thread.start()
    thread.join(10)
    assert len(made) == 4
    assert made[0] is not None
    assert made[-1] is None
    for one in made:
        if one is not None:
            one.close()
    hangs.close()


async def test_nonsense_that_another_thread_reads_ends_the_connection_in_its_loop() -> None:
    here, there = socket.socketpair()
    ends: list[int] = []
    watched, _ = socket.socketpair()  # the loop does not read itself
    stream = Stream(there, lambda _: None, lambda: ends.append(threading.get_ident()), watched.fileno())
    here.send(b"\xff\xff\xff\xff and more")
    await asyncio.to_thread(stream.read_beside, lambda _: None)
    await until(lambda: ends)
    assert ends == [threading.get_ident()]
    here.close()


async def test_the_loop_hears_of_an_end_that_another_thread_reads() -> None:
    here, there = socket.socketpair()
    watched, _ = socket.socketpair()
    stream = Stream(there, lambda _: None, watched=watched.fileno())
    here.close()
    await asyncio.to_thread(stream.read_beside, lambda _: None)
    await until(lambda: not stream.open)


async def test_a_thread_that_finds_another_one_at_it_does_not_wait() -> None:
    """The other one may be in a signal handler of the user's, which waits for this thread."""
    here, there = socket.socketpair()
    got: list[bytes] = []
    stream, other = Stream(here, lambda _: None), Stream(there, got.extend)
    with stream._sending:
        await asyncio.wait_for(asyncio.to_thread(stream.send, (b"left to that one",)), 10)
    assert stream.waiting
    stream.send((b"next",))
    await until(lambda: len(got) == 2)
    with other._reading:
        stream.send((b"later",))
        await asyncio.sleep(0.01)  # woken, and not held up
        assert len(got) == 2
    await until(lambda: len(got) == 3)
    stream.close()
    other.close()


async def test_a_forked_child_does_not_keep_the_connection_open() -> None:
    here, there = socket.socketpair()
    lost: list[str] = []
    stream, _ = Stream(here, lambda _: None), Stream(there, lambda _: None, lambda: lost.append("lost"))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)
    stream.close()
    await until(lambda: lost)
    os.close(writing)
    os.waitpid(child, 0)


async def test_last_words_of_a_rank_are_read_and_its_stream_is_closed(tmp_path: Path) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    got: list[tuple[bytes, bytes]] = []
    router = Router(context, str(tmp_path / "link"), lambda *said: got.append(said), lambda: None)
    made = connect(router.url)
    assert made is not None
    rank = Stream(made, lambda _: None)
    rank.send((b"hello",))
    await until(lambda: got)
    peers = RankRoutes(router.send, router.read_last)
    peers.joined(0, got[0][0])
    rank.send((b"last words",))
    kept = os.dup(made.fileno())  # as a child of the rank has it: there is no end to read
    peers.read_last(0)
    peers.read_last(1)
    assert [text for _, text in got] == [b"hello", b"last words"]
    assert router.send(got[0][0], [links.encode(links.End())]) == "gone"
    os.close(kept)
    rank.close()
    router.close()
    context.term()


async def test_peers_that_do_not_read_hold_the_end_up_once_and_not_one_by_one(tmp_path: Path) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    got: list[bytes] = []
    router = Router(context, str(tmp_path / "link"), lambda peer, _: got.append(peer), lambda: None)
    stopped = []
    for _ in range(6):
        made = connect(router.url)
        assert made is not None
        made.sendall(b"\1\0\0\0x")
        stopped.append(made)
    await until(lambda: len(got) == 6)
    for peer in got:
        router.send(peer, [b"x" * 3_000_000])
    began = time.monotonic()
    router.close()
    assert time.monotonic() - began < 3 * sockets.LINGER_S
    for one in stopped:
        one.close()
    context.term()


async def test_a_message_that_is_too_long_holds_no_other_peer_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    peers: list[bytes] = []
    router = Router(context, str(tmp_path / "link"), lambda peer, _: peers.append(peer), lambda: None)
    made = connect(router.url)
    assert made is not None
    got: list[bytes] = []
    client = Stream(made, got.extend)
    client.send((b"hello",))
    await until(lambda: peers)
    monkeypatch.setattr(chunks, "MOST_MESSAGE", 100)
    assert router.send(peers[0], [b"x" * 101]) == "sent"
    assert router.send(peers[0], [b"the next"]) == "sent"
    await until(lambda: got)
    assert got == [b"the next"]
    client.close()
    router.close()
    context.term()


async def test_an_answer_that_is_too_long_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MOST_MESSAGE", 500)
    answers: list[bytes] = []

    async def long(*_: object) -> str:
        return "y" * 501

    requests = Requests({clients.Info: long}, {}, lambda _, frame: answers.append(frame))
    requests.received(b"client", clients.encode(clients.Request(1, clients.Info())))
    await until(lambda: answers)
    answer = clients.decode_to_client(answers[0])
    assert isinstance(answer, clients.Answer)
    assert answer.error is not None
    assert "too large" in answer.error["message"]
    await supervision.here().close()
