"""Streams between processes of one machine: order, sizes, a slow reader, and an end with words left."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

from dtrain_lab.machine.net.listener import SUFFIX, Listener, connect
from dtrain_lab.machine.net.streams import Stream


def pair(mine: list[bytes], theirs: list[bytes], lost: list[str] | None = None) -> tuple[Stream, Stream]:
    here, there = socket.socketpair()
    gone = [] if lost is None else lost
    return Stream(here, mine.extend), Stream(there, theirs.extend, lambda: gone.append("lost"))


async def until(done: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not done():
            await asyncio.sleep(0)


async def test_messages_of_all_sizes_arrive_whole_and_in_order() -> None:
    got: list[bytes] = []
    here, there = pair([], got)
    sent = [bytes([n % 251]) * size for n, size in enumerate((0, 1, 3, 65_532, 65_536, 5_000_000, 7, 0))]
    here.send(sent[:4])
    for message in sent[4:]:
        here.send((message,))
    await until(lambda: len(got) == len(sent))
    assert got == sent
    assert here.waiting == 0
    here.close()
    there.close()


async def test_threads_send_at_once_and_each_keeps_its_order() -> None:
    got: list[bytes] = []
    here, there = pair([], got)

    def say(name: bytes) -> None:
        for n in range(300):
            here.send((name + struct.pack("<I", n) + b"." * 3000,))

    threads = [threading.Thread(target=say, args=(name,)) for name in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    await until(lambda: len(got) == 900)
    for name in (b"a", b"b", b"c"):
        mine = [struct.unpack("<I", m[1:5])[0] for m in got if m[:1] == name]
        assert mine == list(range(300))
    here.close()
    there.close()


async def test_what_was_said_before_the_end_is_read_also_where_our_messages_were_unread() -> None:
    got: list[bytes] = []
    lost: list[str] = []
    here, there = pair([], got, lost)
    there.send((b"unread",))  # so that the end is a reset
    here.send((b"one", b"two"))
    here.close()
    there.read_all()
    assert got == [b"one", b"two"]
    assert lost == ["lost"]
    there.send((b"to nobody",))


async def test_what_waits_leaves_at_the_close() -> None:
    got: list[bytes] = []
    here, there = pair([], got)
    here.send((b"x" * 3_000_000,))
    assert here.waiting > 0
    # the other end reads while this one closes
    reader = threading.Thread(target=lambda: received.append(_read(4 + 3_000_000)))
    received: list[int] = []
    raw = there._socket

    def _read(size: int) -> int:
        raw.setblocking(True)
        count = 0
        while count < size and (data := raw.recv(1 << 20)):
            count += len(data)
        return count

    asyncio.get_running_loop().remove_reader(raw)
    reader.start()
    here.close(linger_s=20)
    reader.join(20)
    assert received == [4 + 3_000_000]
    there.close()


async def test_a_message_of_nonsense_ends_the_connection() -> None:
    here, there = socket.socketpair()
    lost: list[str] = []
    stream = Stream(there, lambda _: None, lambda: lost.append("lost"))
    here.send(b"\xff\xff\xff\xff and more")
    await until(lambda: lost)
    assert not stream.open
    here.close()


async def test_a_path_without_a_listener_is_no_stream(tmp_path: Path) -> None:
    url = f"ipc://{tmp_path / 'client'}"
    assert connect(url) is None
    assert connect("tcp://127.0.0.1:1") is None
    accepted: list[socket.socket] = []
    listener = Listener(str(tmp_path / "client") + SUFFIX, accepted.append)
    made = connect(url)
    assert made is not None
    await until(lambda: accepted)
    assert (tmp_path / "client.s").stat().st_mode & 0o777 == 0o600
    listener.close()
    made.close()
    accepted[0].close()


async def test_what_waits_is_counted_at_once_however_much_it_is() -> None:
    here, there = socket.socketpair()
    stream = Stream(here, lambda _: None)
    while not stream.waiting:
        stream.send((b"x" * 96,))
    costs = []
    for count in (100, 100_000):
        for _ in range(count):
            stream.send((b"x" * 96,))
        began = time.process_time()
        for _ in range(200):
            assert stream.waiting > count * 100 - 100
        costs.append(time.process_time() - began)
    assert costs[1] < 20 * costs[0]
    before = stream.waiting
    there.setblocking(False)
    read = 0
    while read < 1_000_000:
        with contextlib.suppress(BlockingIOError):
            read += len(there.recv(1 << 16))
        await asyncio.sleep(0)  # and more leaves
    assert before - stream.waiting in range(read - 400_000, read + 400_000)
    stream.close()
    there.close()
