"""Frames of simulated worlds, sent to a real page over a real WebSocket in place of the server's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application
from tornado.websocket import WebSocketHandler

from dtrain_lab.server.frames import encode
from dtrain_lab.server.routes.live import BEAT_S, COMPRESSION
from dtrain_lab.wire.site import LiveFrame

# the page's own socket class, led elsewhere for this one address
LEAD = """
const Real = window.WebSocket;
window.WebSocket = class extends Real {
  constructor(url, protocols) {
    const live = `${url}`.includes('/dtrain-lab/live');
    super(live ? 'ws://127.0.0.1:PORT/live' : url, protocols ?? []);
    if (live) {
      this.addEventListener('message', () => { window.framesOfFeed = (window.framesOfFeed ?? 0) + 1; });
    }
  }
};"""


class Feed:
    """Sends frames to every page that has opened the live socket."""

    def __init__(self, port: int, loop: asyncio.AbstractEventLoop, pages: list[WebSocketHandler]) -> None:
        self.refuses = False
        """No page is let in: the server is gone."""
        self.script = LEAD.replace("PORT", str(port))
        self._loop = loop
        self._pages = pages
        self._beat: asyncio.TimerHandle | None = None

    @property
    def watched(self) -> bool:
        """A page has opened the socket."""
        return bool(self._pages)

    def send(self, frame: dict[str, Any]) -> None:
        """Send a frame."""
        self.send_frame(msgspec.convert(frame, LiveFrame))

    def send_frame(self, frame: LiveFrame) -> None:
        """Send a frame."""
        self._loop.call_soon_threadsafe(self._tell, encode(frame, columns=True))

    def _tell(self, text: str) -> None:
        """In the feed's loop: send a frame, and again while no other comes, as the server does."""
        for page in list(self._pages):
            page.write_message(text)
        if self._beat is not None:
            self._beat.cancel()
        self._beat = self._loop.call_later(BEAT_S, self._tell, text)

    def drop(self) -> None:
        """Cut every page off, and let none in."""
        self.refuses = True
        for page in list(self._pages):
            self._loop.call_soon_threadsafe(page.close)


@contextmanager
def run_feed() -> Iterator[Feed]:
    """A WebSocket server on loopback, in a thread of its own."""
    pages: list[WebSocketHandler] = []

    class Live(WebSocketHandler):
        def check_origin(self, origin: str) -> bool:
            return not feed.refuses

        def get_compression_options(self) -> dict[str, Any]:
            return COMPRESSION

        def open(self, *_: str) -> None:
            pages.append(self)

        def on_close(self) -> None:
            pages.remove(self)

    loop = asyncio.new_event_loop()
    [listening] = bind_sockets(0, "127.0.0.1")

    def serve() -> None:
        asyncio.set_event_loop(loop)
        HTTPServer(Application([(r"/live", Live)])).add_sockets([listening])
        loop.run_forever()

    feed = Feed(listening.getsockname()[1], loop, pages)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield feed
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        listening.close()
        loop.close()


def training(seq: int, size: int, template: dict[str, Any], slow: int | None = None) -> dict[str, Any]:
    """A frame of a training world, eight ranks a node; every figure differs from the frame before.

    Args:
        seq: number of the frame.
        size: ranks.
        template: a cluster of one rank as the server has it.
        slow: a rank that takes half again as long.
    """
    ranks = []
    for index in range(size):
        wobble = ((seq * 7 + index * 13) % 10) / 1001  # as many digits as a measured figure
        late = 0.08 if index == slow else 0.0
        ranks.append(
            {
                **template["ranks"][0],
                "rank": index,
                "node": f"gpu-{index // 8:02}",
                "local_rank": index % 8,
                "state": ("busy", "in collective")[(seq + index) % 2],
                "step": seq,
                "steps_per_s": 5 + wobble,
                "samples_per_s": 160 + wobble,
                "step_s": 0.2 + wobble + late,
                "own_s": (0.2 + wobble + late) * (0.8 - wobble),
                "transfer_s": (0.2 + wobble + late) * (0.2 + wobble) - wobble,
                "wait_s": wobble,
                "comm_overhead": 0.2 + wobble,
                "comm_overhead_error": 0.05,
                "slow": bool(late),
                "memory_bytes": 2**30 + seq,
            }
        )
    metrics = {
        **template["metrics"],
        "samples_per_s": 10240 + seq,
        "step_s": 0.2,
        "transfer_s": 0.2 * (0.2 + seq / 1e4) - 0.01,
        "wait_s": 0.01,
        "comm_overhead": 0.2 + seq / 1e4,
        "comm_overhead_error": 0.05,
        "memory_bytes": 2**30 + seq,
        "current": True,
    }
    names = sorted({rank["node"] for rank in ranks})
    nodes = [
        {
            **template["nodes"][0],
            "name": name,
            "address": f"10.0.{index // 250}.{index % 250 + 1}",
            "cpu_utilization": 0.5 + index / 1000,
            "sent_bytes_per_s": 1.1e8 + 1e6 * ((seq + index) % 7),
            "received_bytes_per_s": 1.2e8 + 1e6 * ((seq + index) % 5),
        }
        for index, name in enumerate(names)
    ]
    cluster = {
        **template,
        "ranks": ranks,
        "nodes": nodes,
        "metrics": metrics,
        "state": "ready",
        "progress": [],
        "may": ["stop", "restart", "stacks", "interrupt"],
        "summary": {"code": "training", "values": {"total": size}, "text": "Training."},
        "world": {"size": size, "generation": 0},
    }
    return {"type": "clusters", "seq": seq, "clusters": [cluster]}
