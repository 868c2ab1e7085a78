"""Orders are read by the main thread while it waits in its loop, by the other thread while it is busy."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from functools import partial

from dtrain_lab.machine.streams import Stream
from dtrain_lab.rank.idle import MainSelector, Turns
from tests.waiting import wait_until


def test_each_order_is_read_by_the_thread_that_is_free_and_none_is_lost_or_overtaken() -> None:
    read: list[tuple[str, bytes]] = []
    beside = asyncio.new_event_loop()
    thread = threading.Thread(target=beside.run_forever, daemon=True)
    thread.start()
    here, there = socket.socketpair()
    here.setblocking(False)
    turns = Turns(here)
    made: list[Stream] = []

    async def open_it() -> None:
        made.append(Stream(here, lambda m: read.extend(("beside", x) for x in m), watched=turns.beside))

    asyncio.run_coroutine_threadsafe(open_it(), beside).result(10)
    selector = MainSelector()
    main = asyncio.SelectorEventLoop(selector)
    selector.attend(turns, partial(made[0].read_beside, lambda m: read.extend(("main", x) for x in m)))

    def say(text: bytes) -> None:
        there.sendall(len(text).to_bytes(4, "little") + text)

    async def cells() -> None:
        threading.Timer(0.1, say, (b"idle",)).start()  # by then this thread waits in its loop
        while len(read) < 1:
            await asyncio.sleep(0.5)
        say(b"busy")  # in a cell: this thread does not come back to its loop
        wait_until(lambda: len(read) == 2, 20, "the order that came in the cell")
        threading.Timer(0.1, say, (b"idle again",)).start()
        while len(read) < 3:
            await asyncio.sleep(0.5)
        for n in range(200):
            threading.Timer(0, say, (b"%d" % n,)).run()
            if n % 3 == 0:
                await asyncio.sleep(0.001)
            elif n % 50 == 1:
                time.sleep(0.002)
        while len(read) < 203:
            await asyncio.sleep(0.01)

    main.run_until_complete(asyncio.wait_for(cells(), 60))
    assert read[:3] == [("main", b"idle"), ("beside", b"busy"), ("main", b"idle again")]
    assert [text for _, text in read[3:]] == [b"%d" % n for n in range(200)]
    there.close()
    wait_until(lambda: not made[0].open, 20, "the end, which is left to the other thread")
    main.close()
    beside.call_soon_threadsafe(beside.stop)
    thread.join(10)
    beside.close()
