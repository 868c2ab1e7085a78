"""Work that may outlast its request: joined, waited for within a limit, and ended with the server."""

from __future__ import annotations

import asyncio

import pytest

from dtrain_lab.errors import Conflict, Unreachable
from dtrain_lab.machine import supervision
from dtrain_lab.server import long_work
from dtrain_lab.server.long_work import LongWork, Work, one_ended


async def test_its_result_can_be_had_later() -> None:
    go = asyncio.Event()

    async def measure() -> int:
        await go.wait()
        return 7

    works = LongWork()
    work = works.join(("diagnosis", "a"), measure)
    assert not await work.within(0)
    assert (work.state, work.error) == ("running", None)
    assert works.join(("diagnosis", "a"), measure) is work, "the same is not done twice at a time"
    assert works.join(("diagnosis", "b"), measure) is not work
    go.set()
    await one_ended([work])
    assert (work.state, work.result()) == ("done", 7)
    assert works.latest(("diagnosis", "a")) is work
    assert works.join(("diagnosis", "a"), measure) is not work
    await supervision.here().close()


async def test_its_error_can_be_had_later_and_a_bug_is_counted() -> None:
    async def refuse() -> int:
        raise Conflict("A cell is running.", "Wait for its end.")

    async def fail() -> int:
        raise KeyError("x")

    refused, failed = Work(refuse()), Work(fail())
    for work in (refused, failed):
        assert await work.within(10)
        assert work.state == "failed"
        assert work.error is not None
    assert refused.error is not None
    assert refused.error.message == "A cell is running."
    with pytest.raises(Conflict):
        refused.result()
    assert failed.error is not None
    assert failed.error.code == "bug"
    assert [failure.name for failure in supervision.here().failures] == ["server.action"]
    await supervision.here().close()


async def test_it_ends_with_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = asyncio.Event()

    async def restart() -> int:
        try:
            return await asyncio.Event().wait()
        finally:
            ended.set()

    begun = Work(restart())
    assert not await begun.within(0.01)
    late = Work(restart())  # it has not begun when the server ends
    await supervision.here().close()
    assert ended.is_set()
    for work in (begun, late):
        with pytest.raises(Unreachable, match="is being stopped"):
            work.result()


async def test_a_server_keeps_the_latest_ones_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_work, "MOST_KEPT", 2)

    async def measure() -> int:
        return 7

    works = LongWork()
    for name in "abcd":
        await works.join(("diagnosis", name), measure).within(10)
    assert [key[1] for key, _ in works.all()] == ["c", "d"]
    await supervision.here().close()
