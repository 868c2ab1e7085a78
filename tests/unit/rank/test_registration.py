"""A rank registers with ipyparallel's controller: what is asked, again where an answer is lost, and told."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_asyncio
import zmq
import zmq.asyncio
from jupyter_client.session import Session

from dtrain_lab.rank import engine as engines
from dtrain_lab.rank.engine import RankEngine, Registration
from dtrain_lab.wire import links

ORDER = links.Register(json.dumps({"interface": "inproc://hub"}))


class Rank:
    """A rank's engine without a kernel, and a controller's hub whose answers a test gives."""

    def __init__(self) -> None:
        self.context: Any = zmq.asyncio.Context()
        self.hub = self.context.socket(zmq.ROUTER)
        self.hub.bind("inproc://hub:registration")
        self.session = Session(key=b"")
        self.connected: list[tuple[str, str]] = []
        self.hearts: list[str] = []
        self.told: asyncio.Queue[Any] = asyncio.Queue()
        fake = SimpleNamespace(
            context=self.context,
            session=self.session,
            spec=SimpleNamespace(rank=1),
            ident="me",
            bident=b"me",
            sockets=[("shell", "mux"), ("shell", "task"), ("iopub", "iopub")],
            connection_info_env="",
            connection_info={**{n: n for n in engines.NOWHERE}, "interface": "inproc://hub"},
            load_connection_file=lambda: None,
            init_connector=lambda: (self.connect, str),
            start_heartbeat=lambda ping, *_: self.hearts.append(ping),
        )
        self.registration = Registration(cast(RankEngine, fake), self.told.put_nowait)

    def connect(self, socket: Any, url: str) -> None:
        if isinstance(socket, str):
            self.connected.append((socket, url.rpartition(":")[2]))
        else:
            socket.connect(url)

    async def asked(self) -> tuple[bytes, str, dict[str, Any]]:
        """Who asks the hub, for what."""
        (who, *_), frames = self.session.feed_identities(await self.hub.recv_multipart())
        message = self.session.deserialize(frames)
        return who, message["msg_type"], message["content"]

    async def answer(self, who: bytes, **content: Any) -> None:
        await self.hub.send_multipart([who, *self.session.serialize(self.session.msg("r", content=content))])


@pytest_asyncio.fixture
async def rank() -> AsyncIterator[Rank]:
    made = Rank()
    yield made
    made.context.destroy(linger=0)


@pytest.mark.asyncio
async def test_a_lost_answer_is_asked_for_again_and_a_repeated_order_is_answered(
    rank: Rank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "REPLY_WITHIN_S", 0.05)
    monkeypatch.setattr(engines, "TRIES", 400)
    asked: list[tuple[str, Any]] = []

    async def serve() -> None:
        while True:
            who, kind, content = await rank.asked()
            asked.append((kind, content))
            if len(asked) > 3 and kind == "registration_request":
                await rank.answer(who, status="ok", id=1)

    serving = asyncio.ensure_future(serve())
    async with asyncio.timeout(20):
        rank.registration.begin(ORDER)
        rank.registration.begin(ORDER)  # while that is going on
        report = links.Registered(rank=1, pid=os.getpid(), engine="me")
        assert await rank.told.get() == report
        assert asked[:2] == [
            ("unregistration_request", {"id": 1}),  # of an earlier process
            ("registration_request", {"uuid": "me", "id": 1}),
        ]
        assert asked[2:4] == asked[:2]
        assert rank.connected == [("iopub", "iopub"), ("shell", "task"), ("shell", "mux")]
        assert rank.hearts == ["inproc://hub:hb_ping"]
        rank.registration.begin(ORDER)
        assert await rank.told.get() == report
    serving.cancel()
    assert rank.told.empty()
    assert len(rank.hearts) == 1


@pytest.mark.asyncio
async def test_a_refusal_is_told_and_the_next_order_tries_again(rank: Rank) -> None:
    async with asyncio.timeout(20):
        for content, error in (
            (
                {"status": "error", "evalue": "uuid in use"},
                "OSError: ipyparallel's controller refused: uuid in use",
            ),
            ({"status": "ok", "id": 7}, "OSError: ipyparallel's controller gave the number 7"),
            ({"status": "ok", "id": 1}, ""),
        ):
            rank.registration.begin(ORDER)
            await rank.asked()
            who, _, _ = await rank.asked()
            await rank.answer(who, **content)
            assert (await rank.told.get()).error == error
