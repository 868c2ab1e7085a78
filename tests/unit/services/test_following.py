"""Following a job's log, on a clock that the test drives: its pieces, and how often files are read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

from dtrain_lab.errors import BadRequest
from dtrain_lab.services.jobs import following
from dtrain_lab.services.jobs.following import next_piece, pieces
from dtrain_lab.wire.jobs.log import Log, LogBars, LogPiece

Plan: TypeAlias = "dict[float, Callable[[FakeJob], None]]"
MOST_LINES = 2
"""Lines of one piece."""


class FakeJob:
    """Jobs and the reader of one of them; what happens to it at a time is planned beforehand.

    Args:
        far: Whether its files are on another machine.
        plan: Time → what happens then.
    """

    def __init__(
        self, *, far: bool = False, plan: dict[float, Callable[[FakeJob], None]] | None = None
    ) -> None:
        self.is_far, self.plan = far, dict(plan or {})
        self.now, self.ended, self.log = 0.0, False, list[Log | LogBars]()
        self.state_reads, self.file_reads, self.size_reads = 0, 0, 0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now = round(self.now + seconds, 6)
        for at in sorted(at for at in self.plan if at <= self.now):
            self.plan.pop(at)(self)

    def write(self, *texts: str, rank: int = 0) -> None:
        self.log += [Log(self.now, rank, text) for text in texts]

    async def reader(self, name: str) -> Any:
        assert name == "a"
        self.state_reads += 1
        ended = self.ended

        async def logs(*, offset: str, ranks: Collection[int] | None) -> LogPiece:
            if offset not in ("start", "end") and not offset.isdigit():
                raise BadRequest("offset is unknown.")
            self.file_reads += 1
            begin = len(self.log) if offset == "end" else int(offset) if offset.isdigit() else 0
            read = [entry for entry in self.log[begin : begin + MOST_LINES]]
            own = [entry for entry in read if ranks is None or entry.rank in ranks]
            return LogPiece(
                tuple(entry for entry in own if isinstance(entry, Log)),
                str(begin + len(read)),
                ended and len(read) < MOST_LINES,
                bars=tuple(entry for entry in own if isinstance(entry, LogBars)),
            )

        async def log_sizes() -> tuple[int, ...]:
            self.size_reads += 1
            return (len(self.log),)

        return SimpleNamespace(is_far=self.is_far, logs=logs, log_sizes=log_sizes)


@pytest.fixture
def of(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeJob], Any]:
    """Let a job's clock be the module's."""

    def use(job: FakeJob) -> Any:
        monkeypatch.setattr(following, "time", SimpleNamespace(monotonic=job.monotonic))
        monkeypatch.setattr(following, "asyncio", SimpleNamespace(sleep=job.sleep))
        return job

    return use


def end(job: FakeJob) -> None:
    job.ended = True


def last_words(job: FakeJob) -> None:
    job.write("last", "words", "of it")
    job.ended = True


async def texts_of(read: Any) -> list[str]:
    return [line.text async for piece in read for line in piece.lines]


@pytest.mark.parametrize("far", [False, True])
async def test_a_log_is_read_whole_also_what_was_written_as_the_job_ended(of: Any, far: bool) -> None:
    jobs = of(FakeJob(far=far, plan={3.0: lambda job: job.write("more"), 7.5: last_words}))
    jobs.write("a", "b", "c")
    assert await texts_of(pieces(jobs, "a")) == ["a", "b", "c", "more", "last", "words", "of it"]
    assert jobs.now < 7.5 + 2.5


async def test_files_of_other_machines_are_read_once_a_second(of: Any) -> None:
    jobs = of(FakeJob(far=True, plan={10.0: end}))
    assert await texts_of(pieces(jobs, "a")) == []
    assert jobs.file_reads <= 12, "each read is a round trip for each node"
    assert jobs.size_reads == 0, "a size would be another one"


async def test_a_file_of_this_machine_is_read_when_it_has_grown(of: Any) -> None:
    seen: list[float] = []
    jobs = of(FakeJob(plan={3.0: lambda job: job.write("more"), 10.0: end}))
    async for piece in pieces(jobs, "a"):
        seen += [jobs.now] if piece.lines else []
    assert seen == [pytest.approx(3.0, abs=0.06)]
    assert jobs.file_reads <= 16, "a log that did not grow is read only with the job's state"
    assert jobs.state_reads <= 12


async def test_what_the_log_has_now_needs_no_waiting(of: Any) -> None:
    jobs = of(FakeJob())
    jobs.write("a", "b", "c")
    assert await texts_of(pieces(jobs, "a", within_s=0)) == ["a", "b", "c"]
    assert (jobs.now, jobs.state_reads, jobs.size_reads) == (0.0, 1, 0)
    jobs.write("d", rank=1)
    assert await texts_of(pieces(jobs, "a", offset="2", ranks=(1,), within_s=0)) == ["d"]


async def test_waiting_ends_in_time(of: Any) -> None:
    jobs = of(FakeJob(plan={9.0: end}))
    jobs.write("a")
    assert await texts_of(pieces(jobs, "a", within_s=2.0)) == ["a"]
    assert 2.0 <= jobs.now < 2.1


async def test_the_next_piece_has_something_new(of: Any) -> None:
    bars = LogBars(0.0, 0, ("30%",))
    plan: Plan = {
        1.0: lambda job: job.write("other's", rank=1),
        2.0: lambda job: job.write("own"),
        3.0: lambda job: job.log.append(bars),
        5.0: end,
    }
    jobs = of(FakeJob(plan=plan))
    piece = await next_piece(jobs, "a", "end", (0,), within_s=20.0)
    assert [line.text for line in piece.lines] == ["own"]
    assert (await next_piece(jobs, "a", piece.offset, (0,), within_s=20.0)).bars == (bars,)
    quiet = await next_piece(jobs, "a", "3", (0,), within_s=0.5)
    assert (quiet.lines, quiet.bars, quiet.end, quiet.offset) == ((), (), False, "3")
    assert (await next_piece(jobs, "a", "3", (0,), within_s=20.0)).end


async def test_an_invalid_offset_is_refused(of: Any) -> None:
    with pytest.raises(BadRequest):
        await next_piece(of(FakeJob()), "a", "7:x", None, within_s=20.0)
