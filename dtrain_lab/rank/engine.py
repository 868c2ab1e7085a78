"""A rank as an ipyparallel engine: its kernel needs no controller, and registers once the head has one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import zmq
import zmq.asyncio
from ipyparallel.engine.app import IPEngine

from dtrain_lab.machine.signals import deferred_handlers
from dtrain_lab.rank.debugger import pause
from dtrain_lab.rank.ipykernel import modules_known
from dtrain_lab.wire import links
from dtrain_lab.wire.links import RankSpec

events = logging.getLogger("dtrain_lab.rank")
logging.getLogger("RankEngine").setLevel(logging.WARNING)  # even if the user's root logger has a lower level
REPLY_WITHIN_S, TRIES = 5.0, 3
"""A controller that is just being restarted may lose a request."""
_CHANNELS = ("control", "mux", "task", "iopub", "hb_ping", "hb_pong", "registration")
NOWHERE = {
    "interface": "tcp://127.0.0.1",
    "location": "127.0.0.1",
    "curve_serverkey": "0" * 40,
    "pack": "json",
    "unpack": "json",
    "signature_scheme": "hmac-sha256",
    "broadcast": ["broadcast"],
    **{name: name for name in _CHANNELS},
}
"""A connection file without a controller: `IPEngine` would connect to channels by their names as ports."""


class RankEngine(IPEngine):  # type: ignore[misc]
    """ipyparallel's engine, with a kernel that needs no controller.

    `IPEngine` makes its kernel from a controller's answer. Here the answer is made up, and the sockets of the
    kernel are connected once there is a controller: until then nothing polls, and no heartbeat comes.
    """

    spec: RankSpec
    attach: Callable[[RankEngine], None]
    """Called with this engine once its kernel exists."""

    def parse_command_line(self, argv: object = None) -> None:
        """Take the settings from `config`: a parser for all options would cost each rank 3 MiB."""
        self.cli_config = deepcopy(self.config)  # takes precedence over the user's configuration files
        self.argv: list[str] = []
        self.extra_args: list[str] = []

    def _configure_logging(self) -> None:
        """Leave the loggers alone: logs go to the rank's file, and a new set-up would visit all loggers."""

    def init_engine(self) -> None:
        """Set up the session; there is no connection yet."""
        self.sockets: list[tuple[Any, str]] = []
        """The kernel's sockets, each with a channel that it is connected to at registration."""
        self.connection_info_env = json.dumps(NOWHERE)
        super().init_engine()

    def init_signal(self) -> None:
        """Ignore SIGINT outside cells; `CellRunner` sets Python's own handler while a cell runs.

        SIGTERM ends the rank, even inside C code. With ipyparallel's handler the cell would go on running
        while its output is lost.
        """
        deferred_handlers.install()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        pause.listen()

    async def register(self) -> None:
        """Make the kernel, without a controller, and the rank that uses it."""
        content = {"status": "ok", "id": self.spec.rank, "hb_period": 0}
        answer = self.session.serialize(self.session.msg("registration_reply", content=content))
        with modules_known(self):
            await super().complete_registration(answer, self._connect_later, str)
        self.attach(self)

    def start_heartbeat(self, hb_ping: str, hb_pong: str, hb_period: int, identity: bytes) -> None:
        """Begin to answer heartbeats, once there is a controller that sends some.

        Args:
            hb_ping: Address for pings; it ends with ":hb_ping" as long as there is no controller.
            hb_pong: Address for pongs.
            hb_period: Milliseconds between two pings; 0 if unknown.
            identity: Identity of the engine.
        """
        if not hb_ping.endswith(":hb_ping"):
            super().start_heartbeat(hb_ping, hb_pong, hb_period, identity)

    def _connect_later(self, socket: Any, url: str, curve_serverkey: bytes | None = None) -> None:
        self.sockets.append((socket, url.rpartition(":")[2]))


class Registration:
    """Registers an engine with the controller. All methods run on the IOPub thread.

    So a rank registers while its main thread runs a cell, waits in a collective or is paused. Two of the
    kernel's sockets belong to other threads. Connecting them here is safe: pyzmq holds Python's lock while it
    connects and while it looks for events. It releases the lock only to send and receive, and nothing is sent
    to an engine that is not registered.

    Args:
        engine: The engine.
        send: Sends a message to the head.
    """

    def __init__(self, engine: RankEngine, send: Callable[[links.Message], None]) -> None:
        self._engine = engine
        self._send = send
        self._attempt: asyncio.Task[None] | None = None
        self._done = False

    def begin(self, order: links.Register) -> None:
        """Register, unless that is going on; the head is told how it ended."""
        if self._attempt is None or self._attempt.done():
            self._attempt = asyncio.get_running_loop().create_task(self._try(order.engine))

    async def _try(self, info: str) -> None:
        report = partial(links.Registered, rank=self._engine.spec.rank, pid=os.getpid())
        try:
            if not self._done:  # a restarted controller still knows its engines
                await self._register(info)
                self._done = True
        except Exception as error:  # noqa: BLE001 # the head tells whoever asked for the view
            events.error("no registration with ipyparallel", exc_info=error)
            self._send(report(error=f"{type(error).__name__}: {error}"[:500]))
        else:
            self._send(report(engine=self._engine.ident))

    async def _register(self, info: str) -> None:
        engine = self._engine
        engine.connection_info_env = info
        engine.load_connection_file()
        connect, at = engine.init_connector()
        to = engine.connection_info

        def url(channel: str) -> str:
            ports = to[channel]
            return f"{to['interface']}:{ports[0] if isinstance(ports, list) else ports}"

        while engine.sockets:
            socket, channel = engine.sockets[-1]
            connect(socket, url(channel))
            engine.sockets.pop()
        for left in reversed(range(TRIES)):
            try:
                await self._request(url("registration"), connect)
                break
            except TimeoutError:
                if not left:
                    raise TimeoutError(f"no answer in {TRIES * REPLY_WITHIN_S:.0f} s") from None
        engine.start_heartbeat(at(url("hb_ping")), at(url("hb_pong")), 0, engine.bident)

    async def _request(self, url: str, connect: Callable[[Any, str], Any]) -> None:
        """Ask for this rank's number, which an earlier process may have.

        Raises:
            OSError: The controller refused.
            TimeoutError: It did not answer.
        """
        engine = self._engine
        asks = zmq.asyncio.Context.shadow(engine.context).socket(zmq.DEALER)
        try:
            asks.linger = 0
            connect(asks, url)
            session, rank = engine.session, engine.spec.rank
            for kind, content in (
                ("unregistration_request", {"id": rank}),
                ("registration_request", {"uuid": engine.ident, "id": rank}),
            ):
                await asks.send_multipart(session.serialize(session.msg(kind, content=content)))
            async with asyncio.timeout(REPLY_WITHIN_S):
                frames = await asks.recv_multipart()
        finally:
            asks.close()
        _, parts = session.feed_identities(frames)
        reply = session.deserialize(parts)["content"]
        if reply["status"] != "ok":
            raise OSError(f"ipyparallel's controller refused: {reply.get('evalue', reply['status'])}")
        if reply["id"] != rank:
            raise OSError(f"ipyparallel's controller gave the number {reply['id']}")
