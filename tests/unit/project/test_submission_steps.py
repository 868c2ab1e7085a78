"""The way of a submission through the code: what a reader follows from `Jobs.submit` to the back-end.

A step is a call of a module by one in `services/`, which puts a submission together. Not counted are calls of
the vocabulary (`wire`, `errors`, `machine`) and of the back-end's contract; a call through the cache of
answers is one by the module that asks it.

- A step climbs if the called module imports the calling one, so that it is above it: a callback.
- It returns if the module was called before, and its caller has called another one since, or isn't the same.
  What such a call does again below the module is not counted again.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dtrain_lab
from dtrain_lab.backends.local import interpreter
from dtrain_lab.backends.local.backend import LocalBackend
from dtrain_lab.services import paths
from dtrain_lab.services.index.store import JobIndex
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.policy import backends
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.processes.head_record import Handle
from tests.books import write
from tests.unit.import_graph import imports

ROOT = str(Path(dtrain_lab.__file__).parent) + "/"
CACHE = "services/plans/answer_cache"
LEFT_OUT = ("wire/", "errors", "machine/", "backends/", CACHE)
MOST_CLIMBS, MOST_RETURNS = 3, 6


class Steps:
    """Records steps, as (caller, called), while it is a profile function."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str]] = []
        self.returns: list[tuple[str, str]] = []
        self._seen: set[FrameType] = set()  # a coroutine is called again each time that it goes on
        self._returned: set[FrameType] = set()
        self._last: dict[str, str] = {}
        """What each module has called last."""
        self._caller: dict[str, str] = {}
        """By which module each was called last."""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        called = _module(frame)
        if event != "call" or called is None or frame in self._seen:
            return
        self._seen.add(frame)
        below = list(_below(frame))
        caller = next((name for one in below if (name := _module(one)) not in (None, CACHE)), None)
        if caller in (None, called) or not caller.startswith("services/") or called.startswith(LEFT_OUT):
            return
        if not self._returned.isdisjoint(below):
            return
        self.made.append((caller, called))
        goes_on = self._caller.get(called) == caller and self._last.get(caller) == called
        if called in self._caller and not goes_on:
            self.returns.append((caller, called))
            self._returned.add(frame)
        self._caller[called], self._last[caller] = caller, called

    def climbs(self) -> list[tuple[str, str]]:
        graph = {_path(name): {_path(one) for one in found} for name, found in imports().items()}
        return sorted({(a, b) for a, b in self.made if a in _all_below(graph, b)})


def _below(frame: FrameType) -> Iterator[FrameType]:
    """Yield the frames that have called a frame, the nearest first."""
    while (back := frame.f_back) is not None:
        yield (frame := back)


def _module(frame: FrameType) -> str | None:
    name = frame.f_code.co_filename
    return name.removeprefix(ROOT).removesuffix(".py") if name.startswith(ROOT) else None


def _path(module: str) -> str:
    return module.removeprefix("dtrain_lab.").replace(".", "/")


def _all_below(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        todo += (new := graph[todo.pop()] - found)
        found |= new
    return found


class Accepts(LocalBackend):
    """A back-end on this machine that starts no process; the submission's way ends with it."""

    async def submit(self, submission: Any, files: Mapping[str, bytes]) -> Handle:
        sys.setprofile(None)
        return Handle(submission.id, "here", directory=submission.directory)


async def _at_once(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


async def _nothing_missing(*_: Any, **__: Any) -> list[str]:
    return []


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Steps:
    """The steps of a submission that was not previewed."""
    monkeypatch.setattr(backends, "backend", lambda _: backend)
    monkeypatch.setattr(paths, "profiles", lambda: tmp_path)
    monkeypatch.setattr(interpreter, "ask", _nothing_missing)
    monkeypatch.setattr(asyncio, "to_thread", _at_once)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    book = write(tmp_path / "train.ipynb", ["import numpy"])
    backend, jobs, found = Accepts(), Jobs(JobIndex(tmp_path / "jobs.sqlite")), Steps()
    before = sys.getprofile()

    async def submit() -> None:
        sys.setprofile(found)
        try:
            await jobs.submit(JobRequest("train.ipynb", ranks=2, name="steps"), book)
        finally:
            sys.setprofile(before)

    asyncio.run(submit())
    return found


def test_a_submission_is_followed_without_going_back_and_forth(steps: Steps) -> None:
    called = [called for _, called in steps.made]
    assert called.index("services/plans/planning") < called.index("services/jobs/submission"), steps.made
    climbs, returns = steps.climbs(), steps.returns
    assert len(climbs) <= MOST_CLIMBS, climbs
    assert len(returns) <= MOST_RETURNS, returns
    once = {"placement/frameworks/adapter", "services/jobs/submission", "services/plans/inputs"}
    assert once.isdisjoint(called for _, called in returns)
