"""Ranks that serve a chief on another node end with its success, and with nothing that only looks so."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from dtrain_lab.jobs.attempt import SILENT_S, RankReport, attempt_state
from dtrain_lab.machine import processes, supervision
from dtrain_lab.node.agent import Agent
from dtrain_lab.node.sources import parameter_servers, rank_error, spawned_source
from dtrain_lab.node.sources.parameter_servers import Serving
from dtrain_lab.node.sources.spawned_rank import SpawnedRank, exit_code
from dtrain_lab.wire import links

pytestmark = pytest.mark.asyncio


class Head:
    """A head that answers each question with the next of its words; after the last it is silent."""

    def __init__(self, words: Sequence[links.AttemptState | None]) -> None:
        self._words = list(words)
        self.attempt_state: links.AttemptState | None = None
        self.heard_at = 0.0
        self.asked = 0

    async def others_end(self, within_s: float) -> None:
        self.asked += 1
        now = asyncio.get_running_loop().time()
        if self._words and (word := self._words.pop(0)) is not None:
            self.attempt_state, self.heard_at = word, now


@pytest_asyncio.fixture
async def server() -> AsyncIterator[SpawnedRank]:
    """A rank that never ends by itself."""
    kept = SpawnedRank(1, 0)
    kept.process = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
    kept.began = processes.started(kept.pid)
    yield kept
    with contextlib.suppress(ProcessLookupError):
        kept.process.kill()
    await exit_code(kept.process)
    for socket in (kept.debugger, kept.its_debugger):
        socket.close()


def runs(kept: SpawnedRank) -> bool:
    assert kept.process is not None
    return kept.process.returncode is None


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameter_servers, "POLL_S", 0.001)


@pytest.mark.parametrize(
    "words",
    [
        ["done"],
        ["runs", "runs", "done"],
        ["unknown", "runs", "done"],  # the chief's host starts later than this one
        [None, "unknown", "unknown", "done"],
    ],
)
async def test_they_end_when_the_chief_has_succeeded_and_not_before(
    words: list[links.AttemptState | None], server: SpawnedRank
) -> None:
    head = Head(words)
    assert await Serving([server]).wait_for_chief(head)
    assert head.asked == len(words), "only its success ends them"
    assert server.served
    assert server.process is not None
    assert await exit_code(server.process) == -signal.SIGKILL


@pytest.mark.parametrize("word", ["runs", "unknown", None])
async def test_they_serve_as_long_as_the_head_tells_no_end(
    word: links.AttemptState | None, server: SpawnedRank
) -> None:
    waiting = asyncio.ensure_future(Serving([server]).wait_for_chief(Head([word] * 10_000)))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(waiting, 0.1)
    assert runs(server)
    assert not server.served


async def test_they_have_not_served_a_chief_that_failed(server: SpawnedRank) -> None:
    assert await Serving([server]).wait_for_chief(Head(["runs", "failed"])), "the agent ends them as any rank"
    assert runs(server)
    assert not server.served


@pytest.mark.parametrize(
    ("words", "attempt"),
    [(["runs"], 0), (["unknown"], 0), ([], 1)],
    ids=["it ran", "it did not know", "gone since an earlier attempt"],
)
async def test_a_head_that_was_there_and_is_silent_for_long_is_lost(
    words: list[links.AttemptState | None],
    attempt: int,
    server: SpawnedRank,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parameter_servers, "GONE_S", 0.05)
    assert not await asyncio.wait_for(Serving([server], attempt).wait_for_chief(Head(words)), 30)
    assert not server.served
    memory: Any = SimpleNamespace(how=lambda code: "")
    rank_error.write_error(tmp_path, server, -signal.SIGTERM, None, memory)
    (written,) = tmp_path.glob("error.*")
    assert "the job's head was not heard from for" in written.read_text()


async def test_a_head_that_has_not_begun_is_waited_for(
    server: SpawnedRank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its host may still copy the job's data."""
    monkeypatch.setattr(parameter_servers, "GONE_S", 0.02)
    waiting = asyncio.ensure_future(Serving([server]).wait_for_chief(Head([])))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(waiting, 0.1)
    assert runs(server)


async def test_a_late_chief_is_unknown_to_the_head_and_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the agent's connection to the head has it, with the head's own judgement of each question."""
    serve = frozenset({1})
    late, began, done = RankReport(0, None, 1.0), RankReport(0, None, 0.0), RankReport(0, 0, 0.0)
    views = [
        ({1: late}, SILENT_S + 1),
        ({1: late}, 0.0),
        ({0: began, 1: late}, 0.0),
        ({0: done, 1: late}, 0.0),
    ]
    said: list[links.AttemptState] = []
    of_job: Any = SimpleNamespace(node=1, children=[], attempt=0, folder=Path(), end_with_peers=lambda: None)
    monkeypatch.setattr(spawned_source, "ASK_S", 0.001)
    head = spawned_source.SpawnedRanksSource(of_job)
    agent = Agent(head)

    def answer(message: links.Message) -> None:
        ranks, waited_s = views.pop(0)
        said.append(attempt_state(ranks, 2, 0, waited_s, failed=False, serving=serve))
        head.obey(links.Attempt(0, said[-1]))

    monkeypatch.setattr(agent.link, "send", answer)
    agent.link.connected.set()
    try:
        assert await asyncio.wait_for(Serving([]).wait_for_chief(head), 30)
        assert said == ["unknown", "runs", "runs", "done"]
    finally:
        agent.close()
        await supervision.here().close()
