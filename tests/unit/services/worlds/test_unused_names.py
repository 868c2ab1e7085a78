"""A cluster that runs no cell any more gives its name to a new one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.errors import Conflict, Unreachable
from dtrain_lab.services.profiles import environment
from dtrain_lab.services.worlds import naming, unused_names
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.wire import VERSION
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.processes.head_record import HeadRecord
from tests.fakes.clusters import cluster

pytestmark = pytest.mark.asyncio
RECORD = HeadRecord("1", "mine", "here", "/d", 0.0, VERSION)


class Head:
    """A head, and what reaches and stops it."""

    def __init__(self, error: Unreachable | None = None) -> None:
        self.error = error
        self.gone, self.stopped, self.waits = asyncio.Event(), 0, asyncio.Event()

    @property
    def closed(self) -> bool:
        return self.gone.is_set()

    async def ended(self) -> None:
        self.waits.set()
        await self.gone.wait()

    async def reach(self, _: HeadRecord) -> Any:
        if self.error is not None:
            raise self.error
        return self

    async def stop(self, _: Any) -> None:
        self.stopped += 1
        self.gone.set()


async def freed(head: Head, state: Any) -> bool:
    info = replace(cluster(), state=state) if state is not None else None
    return await unused_names.freed(head, RECORD, info)


async def test_one_that_has_failed_is_ended_and_one_that_runs_is_not() -> None:
    failed, running, silent = Head(), Head(), Head()
    assert await freed(failed, "failed")
    assert not await freed(running, "ready")
    assert not await freed(silent, None)
    assert [head.stopped for head in (failed, running, silent)] == [1, 0, 0]


async def test_the_end_of_one_that_stops_is_awaited() -> None:
    """Found by a review: the page stops a failed one and starts at once, which was refused."""
    head = Head()
    free = asyncio.create_task(freed(head, "stopping"))
    async with asyncio.timeout(20):
        await head.waits.wait()
        head.gone.set()
        assert await free
    assert head.stopped == 0, "somebody else has stopped it"


async def test_one_that_has_just_ended_has_no_name() -> None:
    assert await freed(Head(Unreachable("It has ended.", code="ended")), "failed")
    head = Head()
    head.gone.set()
    assert await freed(head, None)


async def test_one_that_does_not_end_keeps_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unused_names, "ENDS_WITHIN_S", 0.01)
    assert not await freed(Head(), "stopping")


async def test_a_start_tries_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is taken again and again must not keep a start busy forever."""
    tried: list[str | None] = []

    @contextmanager
    def reserved(wanted: str | None, usual: str) -> Iterator[str]:
        tried.append(wanted)
        raise naming.Taken("mine", RECORD)
        yield usual

    async def nothing(*_: Any, **__: Any) -> None:
        return None

    async def free(*_: Any) -> bool:
        return len(tried) < 9

    monkeypatch.setattr(environment, "check", nothing)
    monkeypatch.setattr(naming, "reserved", reserved)
    monkeypatch.setattr(unused_names, "freed", free)
    worlds = Worlds("python")
    monkeypatch.setattr(worlds, "info", nothing)
    with pytest.raises(Conflict, match='A cluster "mine" is running'):
        await worlds.begin(Request(ranks=1, name="mine"))
    assert tried == ["mine", "mine"]
