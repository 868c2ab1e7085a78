"""How often a scheduler is asked, and what its answer proves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from dtrain_lab.backends.base import UNSURE
from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.backends.slurm.batch_jobs import BatchJob
from dtrain_lab.backends.slurm.queue import Queue
from dtrain_lab.errors import Unreachable
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import ClusterRecord
from dtrain_lab.wire.profile import Profile
from tests.fakes.head import plan


class Counting:
    """Answers as `squeue` does, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        command = command[command.index("squeue") :]
        self.asked.append(command[1])
        mine = b"7|PENDING|Resources|N/A||dtl:x\n8|RUNNING|None|N/A|n1|dtl:y\n"
        return Done(0, mine if command[1] == "--me" else b"5\n6\n7\n", "")


@pytest.mark.asyncio
async def test_many_questions_are_one_for_all_jobs() -> None:
    scheduler: Any = Counting()
    queue = Queue(scheduler, lambda: 30.0)
    for _ in range(20):
        waiting, running = await queue.job("7"), await queue.job("8")
        assert waiting is not None
        assert running is not None
        assert (waiting.reason, running.state, queue.ahead("7")) == ("Resources", "RUNNING", 2)
    assert len(scheduler.asked) == 2


@pytest.mark.asyncio
async def test_a_job_is_found_again_and_again_by_one_query() -> None:
    scheduler: Any = Counting()
    queue = Queue(scheduler, lambda: 30.0)
    for _ in range(20):
        found = await queue.by_comment("dtl:y", fresh=False)
        assert found is not None
        assert found.id == "8"
    assert scheduler.asked == ["--me", "-h"], "one for all, and one for the order of pending jobs"
    job = batch_job(Held())
    job._queue = queue
    assert await job.find(fresh=False) is None
    assert len(scheduler.asked) == 2
    assert await job.find() is None
    assert len(scheduler.asked) == 4


LISTED = b"7|RUNNING|None|N/A|n1|dtl:c\n"
ENDED = b"7|CANCELLED by 1000|None|N/A|n1|dtl:c\n"


class Held:
    """Each `squeue` answers when the test says so; `scancel` answers at once."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[asyncio.Future[Done]] = asyncio.Queue()
        self.times = 0
        self.cancelled: list[str] = []
        self.scancel = Done(0, b"", "")

    async def run(self, command: Sequence[str], stdin: bytes = b"", within_s: float = 60.0) -> Done:
        if command[0] == "scancel":
            self.cancelled.append(command[1])
            return self.scancel
        self.times += 1
        answer: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        self.begun.put_nowait(answer)
        return await answer

    async def next(self) -> asyncio.Future[Done]:
        """The next query that begins."""
        return await asyncio.wait_for(self.begun.get(), 20)

    async def answers(self, out: bytes) -> None:
        """The next query that begins is answered."""
        (await self.next()).set_result(Done(0, out, ""))


def batch_job(scheduler: Any, handle: Handle | None = None) -> BatchJob:
    cluster = ClusterRecord("c", "mine", Profile(backend="slurm"), plan(1, 1), "/work/c", handle)

    async def sooner() -> tuple[()]:
        return ()

    return BatchJob(cluster, scheduler, Queue(scheduler, lambda: 30.0), sooner)


HANDLE = Handle("c", "login", directory="/work/c", job="7")


@pytest.mark.asyncio
async def test_a_fresh_answer_is_of_a_query_that_began_after_the_question() -> None:
    scheduler: Any = Held()
    queue = Queue(scheduler, lambda: 30.0)
    early = asyncio.create_task(queue.job("7"))
    first = await scheduler.next()
    # here, the job is submitted
    fresh = [asyncio.create_task(queue.job("7", fresh=True)) for _ in range(3)]
    joined = asyncio.create_task(queue.job("7"))
    await asyncio.sleep(0)
    first.set_result(Done(0, b"", ""))
    assert (await early, await joined) == (None, None)
    assert not any(task.done() for task in fresh)
    await scheduler.answers(LISTED)
    assert [job.id for task in fresh if (job := await task)] == ["7"] * 3
    assert scheduler.times == 2, "all who need a fresh answer share one"


@pytest.mark.asyncio
async def test_a_query_that_fails_costs_no_later_one() -> None:
    scheduler: Any = Held()
    queue = Queue(scheduler, lambda: 30.0)
    early = asyncio.create_task(queue.job("7"))
    first = await scheduler.next()
    fresh = asyncio.create_task(queue.by_comment("dtl:c"))
    await asyncio.sleep(0)
    first.set_result(Done(1, b"", "slurm_load_jobs error: Unable to contact slurm controller"))
    with pytest.raises(Unreachable, match="Slurm does not answer"):
        await early
    await scheduler.answers(LISTED)
    assert (await fresh) is not None


@pytest.mark.asyncio
async def test_a_job_that_was_submitted_during_a_query_is_cancelled() -> None:
    scheduler: Any = Held()
    job = batch_job(scheduler, HANDLE)
    early = asyncio.create_task(job._queue.job("7"))
    first = await scheduler.next()
    cancelling = asyncio.create_task(job.cancel())
    await asyncio.sleep(0)
    first.set_result(Done(0, b"", ""))
    await early
    await scheduler.answers(LISTED)
    await cancelling
    assert scheduler.cancelled == ["7"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("handle", "listed", "cancelled", "said"),
    [
        (HANDLE, LISTED, ["7"], None),
        (HANDLE, ENDED, [], None),
        (HANDLE, b"", [], None),  # Slurm had accepted it, and forgets jobs some time after their end
        (HANDLE, LISTED.replace(b"dtl:c", b"of others"), [], "may be another one than mine"),
        (None, LISTED, ["7"], None),
        (None, b"", [], "has not said yet whether it has mine"),
    ],
)
async def test_a_job_is_cancelled_or_it_is_said_that_this_is_not_certain(
    handle: Handle | None, listed: bytes, cancelled: list[str], said: str | None
) -> None:
    scheduler: Any = Held()
    cancelling = asyncio.create_task(batch_job(scheduler, handle).cancel())
    await scheduler.answers(listed)
    if said is None:
        await cancelling
    else:
        with pytest.raises(Unreachable, match=said) as unsure:
            await cancelling
        assert unsure.value.code == (UNSURE if handle is None else "not_confirmed")
    assert scheduler.cancelled == cancelled


@pytest.mark.asyncio
@pytest.mark.parametrize("then", [LISTED, ENDED])
async def test_a_refused_scancel_is_an_error_unless_the_job_has_ended(then: bytes) -> None:
    scheduler: Any = Held()
    scheduler.scancel = Done(1, b"", "scancel: error: Kill job error on job id 7: Access/permission denied")
    cancelling = asyncio.create_task(batch_job(scheduler, HANDLE).cancel())
    await scheduler.answers(LISTED)
    await scheduler.answers(then)
    if then == ENDED:
        await cancelling
    else:
        with pytest.raises(Unreachable, match=r"did not cancel .+: .*denied"):
            await cancelling


@pytest.mark.asyncio
async def test_a_query_whose_loop_has_ended_does_not_keep_others_waiting() -> None:
    scheduler: Any = Held()
    queue = Queue(scheduler, lambda: 30.0)
    early = asyncio.create_task(queue.job("7"))
    await scheduler.next()
    fresh = asyncio.create_task(queue.job("7", fresh=True))
    await asyncio.sleep(0)
    for task in (queue._asking, queue._next):
        assert task is not None
        task.cancel()
    await asyncio.wait({early, fresh})
    again = asyncio.create_task(queue.job("7", fresh=True))
    await scheduler.answers(LISTED)
    assert (await again) is not None
