"""Each event of a rank's debugger says where the rank has stopped at that time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import pytest

from dtrain_lab.rank.debugger import tracing
from dtrain_lab.rank.debugger.stops import Stops
from dtrain_lab.wire.stacks import Frame


class Adapter:
    """In place of pydevd: the stacks of its threads."""

    stacks: dict[int, list[dict[str, Any]]] = {
        1: [{"id": 7, "source": {"path": "/home/me/train.py"}, "line": 3, "name": "step"}],
        2: [],
    }

    async def ask(self, _: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to `stackTrace`."""
        return {"success": True, "body": {"stackFrames": self.stacks[arguments["threadId"]]}}


class Sources:
    """A rank without cells."""

    def outward(self, answer: dict[str, Any]) -> dict[str, Any]:
        """No path is a cell's."""
        return answer

    def frame(self, place: dict[str, Any]) -> Frame:
        """The place as a frame."""
        return Frame(place["file"], place["line"], place["function"])


async def test_a_stop_that_follows_another_has_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "thread_number", lambda _: 1)
    said: list[tuple[str, str, Frame | None]] = []
    reports: list[Coroutine[Any, Any, None]] = []

    def post(event: str, _: dict[str, Any]) -> None:
        said.append((event, stops.error, stops.frame))

    async def stop(thread: int, reason: str, text: str = "") -> None:
        stops.stopped({"threadId": thread, "reason": reason, "text": text, "description": text})
        post("output", {})  # before pydevd has named the frame
        await reports.pop()

    stops = Stops(0, cast(Any, Adapter()), cast(Any, Sources()), reports.append, post)
    frame = Frame("/home/me/train.py", 3, "step")
    await stop(1, "exception", "ValueError")
    error = stops.error
    assert error
    post("output", {})
    await stop(2, "step")  # pydevd did not report that the first one went on
    stops.continued()
    assert said == [
        ("output", "", None),
        ("stopped", error, frame),
        ("output", error, frame),
        ("output", "", None),
        ("stopped", "", None),
        ("continued", "", None),
    ]
    await asyncio.sleep(0)
