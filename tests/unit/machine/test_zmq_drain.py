"""Reading a ZeroMQ socket in a loop: nothing waits unread, whatever came first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import zmq

from dtrain_lab.machine.net.zmq_drain import Drain

pytestmark = pytest.mark.asyncio


async def test_the_first_event_of_a_monitor_is_read() -> None:
    context: zmq.Context[Any] = zmq.Context()
    listens, connects = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    port = listens.bind_to_random_port("tcp://127.0.0.1")
    monitor = connects.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    broken = asyncio.Event()
    drain = Drain(monitor, lambda _: broken.set())
    try:
        connects.connect(f"tcp://127.0.0.1:{port}")
        connects.send(b"hello")
        while not await asyncio.to_thread(listens.poll, 1000):
            pass
        listens.close(linger=0)
        async with asyncio.timeout(10):
            await broken.wait()
    finally:
        drain.close()
        connects.disable_monitor()
        context.destroy(linger=0)


async def test_a_burst_leaves_nothing_behind() -> None:
    context: zmq.Context[Any] = zmq.Context()
    here, there = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    here.bind("inproc://burst")
    there.connect("inproc://burst")
    for number in range(10):
        there.send(str(number).encode())
    found: list[int] = []
    drain = Drain(here, lambda frames: found.append(int(frames[0])), burst=3)
    try:
        async with asyncio.timeout(10):
            while len(found) < 10:
                await asyncio.sleep(0)
        there.send(b"10")
        async with asyncio.timeout(10):
            while len(found) < 11:
                await asyncio.sleep(0.01)
        assert found == list(range(11))
    finally:
        drain.close()
        context.destroy(linger=0)
