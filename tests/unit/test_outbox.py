"""What a rank sends arrives in the order in which its threads have said it."""

from __future__ import annotations

import asyncio
import threading

from dtrain_lab.rank.output.outbox import Outbox
from dtrain_lab.wire import links
from dtrain_lab.wire.links import CellOutput


def output(kind: str, text: str = "") -> CellOutput:
    return CellOutput(cell="c", rank=0, kind=kind, text=text)  # type: ignore[arg-type]


class Way:
    """A connection that keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, messages: list[bytes]) -> None:
        self.sent += messages


def elsewhere(work: object, *args: object) -> None:
    """On another thread, and wait for it."""
    thread = threading.Thread(target=work, args=args)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def test_a_flush_that_runs_does_not_overtake_what_was_posted_before() -> None:
    async def said() -> list[str]:
        way = Way()
        outbox = Outbox(asyncio.get_running_loop())
        outbox.open(way)
        # a widget's message from the main thread, and text that is printed after it: the loop, which
        # has not come to the message yet, sends the text in this very iteration
        elsewhere(outbox.post, output("comm_msg"))
        outbox.put(output("stdout", "after it"), now=True)
        elsewhere(outbox.post, output("display_data"))
        await asyncio.sleep(0)
        outbox.flush()
        return [message.kind for message in map(links.decode_to_head, way.sent)]

    assert asyncio.run(said()) == ["comm_msg", "stdout", "display_data"]
