"""A cell that is run right after its breakpoints were sent, in another channel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
from tornado.ioloop import IOLoop

from dtrain_lab.kernel.debugger import sent_before
from dtrain_lab.kernel.debugger.sent_before import SentBefore


@pytest.fixture
def control() -> Iterator[IOLoop]:
    """Loop of a thread, as the kernel's control thread has one."""
    made: list[IOLoop] = []
    ready = threading.Event()

    def run() -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        made.append(IOLoop.current())
        ready.set()
        loop.run_forever()
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    yield made[0]
    made[0].add_callback(made[0].stop)
    thread.join(10)


def test_a_cell_waits_for_the_breakpoints_that_were_sent_before_it(control: IOLoop) -> None:
    sent, served = SentBefore(), []

    async def serve(command: str) -> None:
        with sent.serving(command):
            await asyncio.sleep(0.02)
            served.append(command)

    async def receive() -> None:
        await serve("dumpCell")
        await serve("setBreakpoints")

    control.add_callback(receive)
    assert sent.wait(control)
    assert served == ["dumpCell", "setBreakpoints"]


def test_it_is_run_anyway_while_a_rank_evaluates_or_does_not_answer(
    control: IOLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = SentBefore()
    with sent.serving("evaluate"):
        assert sent.wait(control)
    monkeypatch.setattr(sent_before, "WITHIN_S", 0.01)
    with sent.serving("setBreakpoints"):
        assert sent.wait(control), "it has arrived"


def test_a_cell_waits_for_breakpoints_that_the_page_has_yet_to_send(
    control: IOLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, served = SentBefore(), []

    async def receive() -> None:
        while not waits.is_set():
            await asyncio.sleep(0)
        for command in ("dumpCell", "debugInfo", "setBreakpoints"):
            await asyncio.sleep(sent_before.TURN_S * sent_before.TURNS * 4)  # the page's turn
            with sent.serving(command):
                served.append(command)
        sent.announce(pending=False)

    waits = threading.Event()
    sent.announce(pending=True)
    control.add_callback(receive)
    control.add_callback(waits.set)
    assert sent.wait(control)
    assert served == ["dumpCell", "debugInfo", "setBreakpoints"]

    sent.announce(pending=True)
    monkeypatch.setattr(sent_before, "WITHIN_S", 0.01)
    monkeypatch.setattr(sent_before, "ANNOUNCED_WITHIN_S", 0.01)
    assert not sent.wait(control), "the page was closed"
    monkeypatch.setattr(sent_before, "WITHIN_S", 60.0)
    assert sent.wait(control), "and the next cell does not wait for it"
