"""A job as its head observes it: the world, figures and verdicts of a cluster, without owning a rank."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from dtrain_lab.head.app import Head
from dtrain_lab.head.metrics import collector
from dtrain_lab.head.ownership.observer import Observer
from dtrain_lab.head.ownership.rank_ownership import Parts
from dtrain_lab.head.stacks import Stacks
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.metrics.verdicts.hang import STUCK_AFTER_S
from dtrain_lab.wire import clients, links
from dtrain_lab.wire.jobs.folder import Live
from dtrain_lab.wire.jobs.job import JobRecord, JobRequest
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.plan import NodePlan, Plan
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.stacks import Frame

NODES = (NodePlan("a", "", 0, 1, 0, 2), NodePlan("b", "", 1, 1, 0, 2))
PLAN = Plan("slurm", "slurm", NODES, "python", {}, "", "gloo", True)
AGENTS = (b"lA", b"rB")


class Job:
    """A job of two ranks on two nodes, each kept by an agent of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        patch.setattr(collector.time, "monotonic", lambda: self.now)
        self.folder = folder
        profile = Profile(backend="slurm")
        self.record = JobRecord(
            "1234abcd", JobRequest("n.ipynb"), profile, PLAN, "n", str(folder), "me", "h", 1.0, "srun"
        )
        self.said: list[tuple[bytes, links.Message]] = []
        self.parts: Parts
        head = Head("1234abcd", folder, self._observe)
        head.__dict__["_link"] = self
        self.head = head
        self.receive: Callable[[bytes, bytes], None] = head._from_link
        self.stacks: Stacks = head._stacks
        self.handlers = head._requests._handlers

    def _observe(self, parts: Parts) -> Observer:
        self.parts = parts
        self.observer = Observer(self.folder, self.record, parts)
        return self.observer

    def send(self, peer: bytes, frames: list[bytes]) -> None:
        """In place of the link's socket."""
        self.said += [(peer, links.decode_to_agent(frame)) for frame in frames]

    def hear(self, peer: bytes, message: links.Message) -> None:
        self.receive(peer, links.encode(message))

    def begin(self, attempt: int = 0) -> None:
        for rank, agent in enumerate(AGENTS):
            told = links.RanksLaunched(rank, f"gpu-{rank}", ((rank, 0, 10 + rank),), attempt)
            self.hear(agent, told)

    def tick(self, *samples: RankSample) -> None:
        self.now += 1.0
        for sample in samples:
            self.hear(AGENTS[sample.rank], links.Samples(sample.rank, (sample,)))


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    return Job(tmp_path, monkeypatch)


def trains(rank: int, step: int) -> RankSample:
    return RankSample(rank=rank, step=step, step_s=0.1, samples_per_s=320.0, exposed_s=0.01, synced=True)


pytestmark = pytest.mark.asyncio


async def test_a_job_is_seen_as_a_cluster_is(job: Job) -> None:
    assert [r.state for r in job.observer.cluster().ranks] == ["starting", "starting"]
    job.begin()
    for step in range(5):
        job.tick(trains(0, step), trains(1, step))
    seen = job.observer.cluster()
    assert (seen.state, seen.world.size) == ("ready", 2)
    assert [(n.name, n.state) for n in seen.nodes] == [("gpu-0", "ready"), ("gpu-1", "ready")]
    assert [(r.pid, r.state, r.step) for r in seen.ranks] == [(10, "busy", 4), (11, "busy", 4)]
    assert seen.metrics.samples_per_s == 640.0
    assert seen.metrics.current


async def test_a_rank_that_others_wait_for_is_named_by_the_same_verdict(job: Job) -> None:
    job.begin()
    waits = RankSample(rank=0, operation="all_reduce", sequence=3, in_operation_s=STUCK_AFTER_S + 1)
    for _ in range(3):
        job.tick(waits, RankSample(rank=1, beat_s=STUCK_AFTER_S + 1))
    assert job.parts.collector.suspects(job.observer.state) == (1,)
    looking = asyncio.ensure_future(job.stacks.locate(job.parts.collector.stuck(job.observer.state), (1,)))
    while not job.said:
        await asyncio.sleep(0)
    assert {peer for peer, _ in job.said} == {*AGENTS}  # rank 0 waits: it is asked once, too
    asked = job.said[0][1]
    assert isinstance(asked, links.ReadStacks)
    frame = Frame("cell [2]", 3, "<module>", "", "[2]")
    for rank, agent in enumerate(AGENTS):
        job.hear(agent, links.StacksRead(rank, asked.id, (frame,), "…"))
    await looking
    verdict = job.observer.cluster().metrics.verdicts[0]
    assert verdict.ranks == (1,)
    assert [r.state for r in job.observer.cluster().ranks] == ["in collective", "stuck"]
    where = job.observer.cluster().ranks[1].where
    assert where is not None
    assert (where.notebook, where.cell, where.line) == ("n.ipynb", "[2]", 3)


async def test_history_needs_a_snapshot_only_while_steps_are_taken(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As found: a cell that prepared data had the whole world described four times a second."""
    snapshots = []
    describe = job.observer.cluster
    monkeypatch.setattr(job.observer, "cluster", lambda: snapshots.append(job.now) or describe())

    def look(*samples: RankSample) -> int:
        snapshots.clear()
        job.tick(*samples)
        job.head._record_history(ended=False)
        return len(snapshots)

    job.begin()
    assert [look(RankSample(rank=0, step=0), RankSample(rank=1, step=0)) for _ in range(8)] == [0] * 8
    assert sum(look(trains(0, step), trains(1, step)) for step in range(1, 6)) > 0
    assert job.head._history.since(0), "points of the steps"
    rests = [look(trains(0, 5), trains(1, 5)) for _ in range(12)]
    assert rests[-1] == 0, "evaluation after the loop"


async def test_ranks_that_end_leave_their_figures_and_their_peers_are_told(job: Job) -> None:
    job.begin()
    for step in range(5):
        job.tick(trains(0, step), trains(1, step))
    job.hear(AGENTS[1], links.Exited(1, 99, 1))  # of an attempt before: not this process
    assert [r.state for r in job.observer.cluster().ranks] == ["busy", "busy"]
    job.hear(AGENTS[1], links.Exited(1, 11, -9))
    assert [r.state for r in job.observer.cluster().ranks] == ["busy", "lost"]
    assert job.observer.cluster().metrics.samples_per_s == 320.0  # of those that go on
    assert job.said == [(AGENTS[0], links.LeaveWorld())]
    job.hear(AGENTS[0], links.Exited(0, 10, 0))
    ended = job.observer.cluster()
    assert [r.state for r in ended.ranks] == ["idle", "lost"]
    assert ended.metrics.samples_per_s == 640.0  # an ended job keeps its last ones
    job.begin(attempt=1)
    again = job.observer.cluster()
    assert [r.state for r in again.ranks] == ["busy", "busy"]
    assert (again.world.generation, again.metrics.samples_per_s) == (1, None)


async def live_file(job: Job) -> None:
    """Wait until the head has written it, on its thread; the loop's clock stands still."""
    while not (job.folder / job_files.LIVE).exists():
        await asyncio.sleep(0)


async def test_what_outlives_the_head_lies_in_the_folder(job: Job) -> None:
    job.begin()
    line = '{"step": 2, "values": {"loss": 0.5, "rate": "nan"}, "averaged": true}'
    other = '{"step": 7, "values": [1]}'
    lines = f'{{"step": 1, "values": {{"lo\n{line}\n{other}\n{{"step": 3'
    (job.folder / job_files.VALUES).write_text(lines)
    job.observer.tick(None)
    await live_file(job)
    live = msgspec.json.decode((job.folder / job_files.LIVE).read_bytes(), type=Live)
    assert live.values == {"loss": 0.5, "rate": "nan", "step": 2}
    assert live.metrics.averaged == ("loss", "rate")
    assert [r.pid for r in live.ranks] == [10, 11]


async def test_a_request_to_the_owner_of_ranks_is_refused(job: Job) -> None:
    assert {clients.Info, clients.Watch, clients.Stacks, clients.DebugRequest, clients.ReadHistory} <= set(
        job.handlers
    )
    assert not {clients.Interrupt, clients.Restart, clients.Run, clients.Stop} & set(job.handlers)


async def test_a_folder_that_blocks_delays_its_files_and_nothing_else(job: Job) -> None:
    """As a network file system whose server is away: here a pipe that nobody reads."""
    history = job.folder / job_files.HISTORY
    os.mkfifo(history)
    job.begin()
    job.observer.record_point(Point(at=1.0))
    for _ in range(2):
        job.observer.tick(None)
        await asyncio.sleep(0)
        assert job.observer.cluster().state == "ready"
    assert not (job.folder / job_files.LIVE).exists()
    written = await asyncio.to_thread(history.read_bytes)
    await live_file(job)
    assert len(written.splitlines()) == 1
    assert msgspec.json.decode(written, type=Point).at == 1.0
