"""Asynchronous access to the index of jobs: a thread of its own runs the blocking calls."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from jupyter_core.paths import jupyter_data_dir

from dtrain_lab.errors import Unreachable
from dtrain_lab.services.index import rebuild
from dtrain_lab.services.index.store import JobIndex, Row
from dtrain_lab.wire.jobs.job import Job, JobRecord

P = ParamSpec("P")
T = TypeVar("T")
PATIENT_S = 5.0
"""If a call fails, calls that were queued at least this long before the failure fail with it."""


def usual() -> JobIndex:
    """Return this user's index; its file is not opened yet."""
    return JobIndex(Path(jupyter_data_dir()) / "dtrain-lab" / "jobs.sqlite", rebuild.nearby)


class _Question(NamedTuple):
    """A queued call. `at`: monotonic time at which it was queued."""

    work: Callable[[], Any]
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    at: float


class AsyncJobIndex:
    """The index of jobs for event loops: a thread runs the store's calls, whose file may be locked or far.

    It is a daemon thread, which does not delay the exit of the process, as the threads of a pool would.
    Methods do the same as those of `JobIndex` with the same names, and raise the same errors.

    Args:
        store: The store.
    """

    def __init__(self, store: JobIndex) -> None:
        self._store = store
        self._questions: queue.SimpleQueue[_Question] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    # ---- write

    async def put(self, record: JobRecord, data: bytes | None = None) -> None:
        """Insert or update a job's `record`; its JSON `data` may have fields that are unknown here."""
        await self._ask(self._store.put, record, data)

    async def add(self, record: JobRecord, clashes: Callable[[JobRecord], bool]) -> JobRecord | None:
        """Add the `record` of a new job; or return a job that conflicts with it, as `clashes` says."""
        return await self._ask(self._store.add, record, clashes)

    async def change(self, identity: str, **changes: Any) -> JobRecord:
        """Change fields of the record of the job `identity` as `changes` says; returns the record."""
        return await self._ask(self._store.change, identity, **changes)

    async def save_state(self, record: JobRecord, job: Job) -> None:
        """Save the state in which a job was `job`, unless its `record` has changed since."""
        await self._ask(self._store.save_state, record, job)

    async def remove(self, identity: str) -> None:
        """Remove a job."""
        await self._ask(self._store.remove, identity)

    async def take_out(
        self, identity: str, folder: str, besides: Collection[str] = ()
    ) -> tuple[Row | None, list[tuple[str, str]]]:
        """Remove the job `identity`, unless other jobs have their checkpoints in `folder`.

        Returns:
            The removed row; and id and name of those other jobs, in which case nothing was removed.
        """
        return await self._ask(self._store.take_out, identity, folder, besides)

    async def put_back(self, row: Row) -> None:
        """Undo `take_out`."""
        await self._ask(self._store.put_back, row)

    # ---- read

    async def active(self) -> list[JobRecord]:
        """Return jobs that are not known to have ended, oldest first, without lost ones."""
        return await self._ask(self._store.active)

    async def lost(self) -> list[JobRecord]:
        """Return jobs that were last seen as lost, oldest first."""
        return await self._ask(self._store.lost)

    async def last_states(self, most: int) -> list[Job]:
        """Return jobs in their last seen state, newest first."""
        return await self._ask(self._store.last_states, most)

    async def find(self, name: str) -> tuple[JobRecord, Job | None] | None:
        """Find a job by its id, a prefix of its id, or its name: its record, and its state as last seen."""
        return await self._ask(self._store.find, name)

    async def data(self, identity: str) -> bytes | None:
        """Return a record's JSON, including fields of other versions; None if there is no such job."""
        return await self._ask(self._store.data, identity)

    async def ids(self) -> set[str]:
        """Return the ids of all jobs, including those that this version can't read."""
        return await self._ask(self._store.ids)

    async def checkpoints(self) -> dict[str, str]:
        """Return each job's checkpoint folder, including jobs that this version can't read."""
        return await self._ask(self._store.checkpoints)

    # ----

    async def _ask(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Call a method of the store in the thread."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="dtrain-index", daemon=True)
            self._thread.start()
        self._questions.put(_Question(partial(work, *args, **named), answer, loop, time.monotonic()))
        return await answer

    def _serve(self) -> None:
        refused: Unreachable | None = None
        refused_at = 0.0
        while True:
            question = self._questions.get()
            if question.answer.cancelled():
                continue
            result: Any = None
            error: Exception | None = None
            if refused is not None and question.at < refused_at - PATIENT_S:
                # it has waited for the failed call already: don't make it wait for the same timeout again
                error = Unreachable(refused.message, refused.hint, code=refused.code)
            else:
                try:
                    result = question.work()
                except Unreachable as unreachable:
                    error = refused = unreachable
                    refused_at = time.monotonic()
                except Exception as other:  # noqa: BLE001 # passed to the caller
                    error = other
            with contextlib.suppress(RuntimeError):  # its loop is closed
                question.loop.call_soon_threadsafe(_resolve, question.answer, result, error)


def _resolve(answer: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if answer.cancelled():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)
