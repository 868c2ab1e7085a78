"""Jobs: submit, list, look, read, cancel, resume, delete. The same for every door.

A job's state is read anew from its folder and its scheduler; nothing of it is kept in a process. The record
is in the index before anything is handed over, so that a crash in between loses nothing: what was taken is
found again by its id.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from jupyter_core.paths import jupyter_data_dir
from msgspec.structs import replace

from dtrain_lab.backends.jobs import ASK_WITHIN_S, Forecast, Place, job_backend
from dtrain_lab.backends.transport import Here, private_folders, room
from dtrain_lab.core import budget as core_budget
from dtrain_lab.core import jobfiles
from dtrain_lab.core import room as core_room
from dtrain_lab.core.job import Job, JobPlan, JobRecord, JobRequest
from dtrain_lab.core.job_folder import PATTERNS, found_in
from dtrain_lab.core.job_state import NOT_ASKED, job
from dtrain_lab.core.kinds import JOB_ENDED
from dtrain_lab.core.room import Room
from dtrain_lab.core.status import Status
from dtrain_lab.errors import Conflict, DtrainError, NotFound, Unreachable
from dtrain_lab.services import submission
from dtrain_lab.services.job_reader import JobReader
from dtrain_lab.services.store import Store

ROOM_S = 60.0
"""What is free changes slowly, and a server of quotas is asked for it."""
FAR_S = 3.0
"""Folders on other machines are looked at no more often."""
LOOK_WITHIN_S = 5.0
"""Then a job is shown as it was last seen; the look goes on."""
Told = Callable[[Job], None]


class Jobs:
    """Jobs of this user.

    Args:
        store: index of them; the usual one unless told.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._store = store or Store(Path(jupyter_data_dir()) / "dtrain-lab" / "jobs.sqlite")
        self._looked: dict[str, tuple[float, Job]] = {}
        self._looking: dict[str, tuple[JobRecord, asyncio.Task[Job]]] = {}
        self._handing_over: set[str] = set()
        self._rooms: dict[tuple[str, str], tuple[float, Room]] = {}

    # ---- submit

    async def plan(self, request: JobRequest, file: Path, *, ask: bool = False) -> JobPlan:
        """What would be submitted; nothing is.

        Args:
            request: of a person.
            file: the notebook.
            ask: the scheduler, too: whether it would take the job, and when it would start.

        Raises:
            DtrainError: there can be no such job.
        """
        made = await submission.prepare(request, file, await self._first_host(request))
        backend = job_backend(made.record.plan.backend)
        room = await self._room(made.record)
        found = [core_room.finding(room, sum(map(len, made.files.values())))]
        forecast = await backend.forecast(made.record) if ask else Forecast()
        found += [forecast.refused, core_budget.finding(forecast.budget) if forecast.budget else None]
        findings = (*made.findings, *(f for f in found if f is not None))
        before = await self._last_script(request.notebook)
        return replace(
            submission.preview(replace(made, findings=findings), before),
            expected_start_at=forecast.starts_at,
            budget=forecast.budget,
            room=room,
        )

    async def _room(self, record: JobRecord) -> Room:
        """What may still be written where the job's folder would be."""
        key = record.plan.profile, record.directory.rpartition("/")[0]
        asked, known = self._rooms.get(key, (-ROOM_S, Room("")))
        if time.monotonic() - asked >= ROOM_S:
            known = await room(job_backend(record.plan.backend).places(record)[0].transport, key[1])
            self._rooms[key] = time.monotonic(), known
        return known

    async def submit(self, request: JobRequest, file: Path) -> Job:
        """Submit a notebook.

        Raises:
            DtrainError: nothing was submitted, and why.
        """
        made = await submission.prepare(request, file, await self._first_host(request))
        submission.refuse(made.findings, made.never)
        record = await self._after(made.record)
        files = made.files if record is made.record else {**made.files, **submission.files_of(record)}
        beside = file.parent if record.plan.backend == "local" else None
        return await self._hand_over(record, files, beside, made.left)

    async def resume(self, name: str) -> Job:
        """A new job of the same code, from the last complete checkpoint.

        Raises:
            Conflict: it still runs, or another one goes on from there already.
        """
        parent = await self.job(name)
        if parent.state not in JOB_ENDED:
            raise Conflict(
                f"{parent.name} still runs.", f"Cancel it first: dtrain-lab job cancel {parent.id}"
            )
        old = self._record(parent.id)
        identity = submission.new_id()
        directory = f"{old.directory.rpartition('/')[0]}/{identity}"
        record = replace(
            old,
            id=identity,
            directory=directory,
            plan=replace(old.plan, directory=f"{directory}/{jobfiles.CODE}"),
            created_at=time.time(),
            request=replace(old.request, after=None),
            handle=None,
            parent=old.id,
            cancelled_at=None,
            problem=None,
        )
        for place in job_backend(old.plan.backend).places(old):
            here, there = shlex.quote(f"{old.directory}/{jobfiles.CODE}"), shlex.quote(directory)
            line = f"umask 077; mkdir -p -- {there} && cp -rP -- {here} {there}/"
            done = await place.transport.run(["bash", "-c", line])
            if done.code:
                raise Unreachable(
                    f"The code of {parent.name} is not there any more: {done.err.strip()}", "Submit it anew."
                )
        return await self._hand_over(record, submission.files_of(record), None, ())

    async def _hand_over(
        self, record: JobRecord, files: dict[str, bytes], beside: Path | None, left: tuple[str, ...]
    ) -> Job:
        backend = job_backend(record.plan.backend)
        await self._note(record)
        self._handing_over.add(record.id)
        try:
            if beside is not None:
                await asyncio.to_thread(_link_rest, beside, Path(record.directory) / jobfiles.CODE, left)
            handle = await backend.submit(record, files)
        except DtrainError:
            if not await self._was_taken(record):
                self._store.remove(record.id)
            raise
        finally:
            self._handing_over.discard(record.id)
        record = replace(record, handle=handle)
        await self._write(record)
        return await self.look(record)

    async def _was_taken(self, record: JobRecord) -> bool:
        """A scheduler that answered too late may have taken it: then it is kept, and found by its id."""
        try:
            return await job_backend(record.plan.backend).find(record) is not None
        except DtrainError:  # nobody can say; it will be found, or shown as lost
            return True

    async def _note(self, record: JobRecord) -> None:
        """Take a new job into the index.

        Raises:
            Conflict: one that has not ended has its name, or goes on in the same checkpoints.
        """

        def goes_on(other: JobRecord) -> bool:
            return record.checkpoints != "" and other.checkpoints == record.checkpoints

        def clashes(other: JobRecord) -> bool:
            named = record.parent is None and record.request.name is not None
            return (named and other.name == record.name) or goes_on(other)

        while (other := self._store.add(record, clashes)) is not None:
            await self._look_quietly(other)  # it may have ended since anybody looked
            if not any(known.id == other.id for known in self._store.active()):
                continue
            if goes_on(other):
                raise Conflict(
                    f"{other.name} ({other.id}) goes on from there already.",
                    f"Cancel it first: dtrain-lab job cancel {other.id}",
                )
            raise Conflict(f'A job "{other.name}" is there already.', "Choose another name, or cancel it.")

    async def _after(self, record: JobRecord) -> JobRecord:
        wanted = record.request.after
        if wanted is None:
            return record
        first = await self.job(wanted)
        backend = record.plan.backend
        beside = first.directory.rpartition("/")[0] == record.directory.rpartition("/")[0]
        if first.backend != backend or (backend == "ssh" and not beside):
            raise Conflict(
                f"A job can't wait for {first.name}: they don't run in the same queue.",
                "Jobs of Slurm wait for jobs of Slurm, local ones for local ones, over SSH "
                "those with the same workdir.",
            )
        after = first.scheduler_id if backend == "slurm" else first.id
        return replace(record, request=replace(record.request, after=after))

    async def _first_host(self, request: JobRequest) -> str | None:
        """Over SSH a job waits where the other one's end is written: on its first host."""
        if request.after is None:
            return None
        try:
            plan = self._record((await self.job(request.after)).id).plan
        except NotFound as error:
            where = {"field": "after"}
            raise NotFound(error.message, error.hint, code=error.code, details=where) from None
        return plan.nodes[0].name if plan.backend == "ssh" else None

    async def _last_script(self, notebook: str) -> str | None:
        for seen in self._store.seen(200):
            if seen.notebook == notebook:
                record = self._record(seen.id)
                place = job_backend(record.plan.backend).places(record)[0]
                if not isinstance(place.transport, Here):
                    return None
                path = f"{record.directory}/{jobfiles.CODE}/{jobfiles.MAIN}"
                text = await place.transport.read(path)
                return text.decode("utf-8", "replace") if text is not None else None
        return None

    # ---- look

    async def listing(self, most: int = 1000) -> list[Job]:
        """Jobs, newest first; those that have not ended are looked at anew."""
        active = self._store.active()
        await asyncio.gather(*(self._look_quietly(record) for record in active))
        return self._store.seen(most)

    async def job(self, name: str, *, fresh: bool = False) -> Job:
        """A job, by id, the beginning of its id, or the newest of its name.

        Raises:
            NotFound: there is none.
        """
        known = self._store.find(name)
        if known is None:
            raise NotFound(f'There is no job "{name}".', "List them: dtrain-lab job list", code="no_job")
        record, seen = known
        if seen is not None and seen.state in JOB_ENDED and not fresh:
            return seen
        return await self._look_soon(record, seen)

    async def _look_soon(self, record: JobRecord, seen: Job | None) -> Job:
        """Look; a job that was seen before is shown as it was then, where nobody can say how it stands.

        A host that is silent keeps nobody waiting, and one that is gone hides nothing.

        Raises:
            DtrainError: nobody can say, and nobody has seen it before.
        """
        before, looking = self._looking.get(record.id, (None, None))
        if looking is None or looking.done() or before != record:
            looking = asyncio.create_task(self.look(record))
            looking.add_done_callback(partial(self._has_looked, record.id))
            self._looking[record.id] = record, looking
        if seen is None:
            return await asyncio.shield(looking)
        await asyncio.wait({looking}, timeout=LOOK_WITHIN_S)
        if not looking.done():
            return replace(seen, reason=seen.reason or NOT_ASKED)
        error = looking.exception()
        if isinstance(error, DtrainError):
            return replace(seen, reason=replace(NOT_ASKED, message=error.message, hint=error.hint))
        return looking.result()

    def _has_looked(self, identity: str, task: asyncio.Task[Job]) -> None:
        known = self._looking.get(identity)
        if known is not None and known[1] is task:  # else a younger one is under way, or done
            del self._looking[identity]
        if not task.cancelled():
            task.exception()  # nobody may wait for it any more

    async def look(self, record: JobRecord) -> Job:
        """Read how a job stands, from its folder and whoever runs it."""
        backend = job_backend(record.plan.backend)
        places = backend.places(record)
        far = not isinstance(places[0].transport, Here)
        known = self._looked.get(record.id)
        if far and known is not None and time.monotonic() - known[0] < FAR_S:
            return known[1]
        if record.handle is None and record.problem is None and record.id not in self._handing_over:
            handle = await backend.find(record)
            if handle is not None:
                record = replace(record, handle=handle)
                await self._write(record)
        # all at once: hosts that are silent are waited for together
        status, theirs = await asyncio.gather(
            _status(record), asyncio.gather(*(_small(record.directory, place) for place in places))
        )
        if isinstance(theirs[0], DtrainError):  # the rest without the first's would be half the truth
            raise theirs[0]
        files: dict[str, bytes] = {}
        ahead: dict[str, float] = {}
        for there in theirs:
            if not isinstance(there, DtrainError):
                files |= there.files
                ahead |= dict.fromkeys(there.files, there.ahead)
        found = found_in(files, ahead)
        if status is not None and status.fate == "ended" and found.exit is None and record.handle is not None:
            # it may have written its end between the two questions
            files |= await places[0].transport.small(record.directory, (jobfiles.EXIT,)) or {}
            ahead[jobfiles.EXIT] = await places[0].transport.ahead()
            found = found_in(files, ahead)
        made = job(record, found, status, time.time())
        made = replace(made, checkpoint_step=await self._checkpoint(record, places[0]))
        self._looked[record.id] = time.monotonic(), made
        self._store.see(record, made)
        return made

    async def wait(self, name: str, told: Told | None = None, every_s: float = 0.5) -> Job:
        """Wait for a job's end."""
        while True:
            made = await self.job(name)
            if told is not None:
                told(made)
            if made.state in JOB_ENDED:
                return made
            await asyncio.sleep(every_s)

    async def reader(self, name: str) -> JobReader:
        """Reads a job's log, figures, stacks and folder.

        Raises:
            NotFound: there is none.
        """
        made = await self.job(name)
        return JobReader(self._record(made.id), made)

    # ---- end

    async def cancel(self, name: str) -> Job:
        """End a job, on all its nodes."""
        made = await self.job(name)
        if made.state in JOB_ENDED:
            return made
        record = replace(self._record(made.id), cancelled_at=time.time())
        await self._write(record)
        if record.handle is not None:
            await job_backend(record.plan.backend).cancel(record)
        self._looked.pop(record.id, None)
        return await self.look(record)

    async def delete(self, name: str) -> Job:
        """Remove a job that has ended, with its folder and all its checkpoints.

        Raises:
            Conflict: it still runs, or another job goes on in its checkpoints.
        """
        made = await self.job(name)
        if made.state not in JOB_ENDED:
            raise Conflict(f"{made.name} still runs.", f"Cancel it first: dtrain-lab job cancel {made.id}")
        record = self._record(made.id)
        own = f"{record.directory}/{jobfiles.CHECKPOINTS}"
        for other in self._store.active():
            if other.id != record.id and other.checkpoints == own:
                raise Conflict(f"{other.name} goes on in its checkpoints.", "Wait for its end.")
        for place in job_backend(record.plan.backend).places(record):
            await place.transport.remove(record.directory)
        self._store.remove(record.id)
        return made

    async def request_of(self, name: str) -> JobRequest:
        """The request of a job, to be duplicated."""
        made = await self.job(name)
        return replace(self._record(made.id).request, after=None, names=None)

    async def rebuild(self, folder: Path) -> int:
        """Take jobs into the index from their folders; how many were found."""
        count = 0
        for path in folder.glob(f"*/{jobfiles.JOB}"):
            try:
                self._store.put(msgspec.json.decode(path.read_bytes(), type=JobRecord))
            except (OSError, msgspec.DecodeError):  # of another version, or not for us
                continue
            count += 1
        return count

    # ----

    def _record(self, identity: str) -> JobRecord:
        known = self._store.find(identity)
        if known is None:
            raise NotFound(f'There is no job "{identity}".', "It was deleted meanwhile.", code="no_job")
        return known[0]

    async def _look_quietly(self, record: JobRecord) -> None:
        known = self._store.find(record.id)
        try:
            await self._look_soon(record, known[1] if known is not None else None)
        except DtrainError:  # it is shown as it was last seen
            return

    async def _write(self, record: JobRecord) -> None:
        self._store.put(record)
        for place in job_backend(record.plan.backend).places(record)[:1]:
            await place.transport.replace(f"{record.directory}/{jobfiles.JOB}", msgspec.json.encode(record))

    async def _checkpoint(self, record: JobRecord, place: Place) -> int | None:
        marks = await place.transport.small(record.checkpoints, ("step-*/complete",)) or {}
        steps = [int(s) for path in marks if (s := path.split("/")[0].removeprefix("step-")).isdecimal()]
        return max(steps, default=None)


class _Small(NamedTuple):
    """Small files of a job's folder, and by how many seconds the clock there is ahead of ours."""

    files: dict[str, bytes]
    ahead: float


async def _small(folder: str, place: Place) -> _Small | DtrainError:
    try:
        files = await place.transport.small(folder, PATTERNS, ASK_WITHIN_S) or {}
        return _Small(files, await place.transport.ahead())
    except DtrainError as error:
        return error


async def _status(record: JobRecord) -> Status | None:
    """None where nobody can be asked now: what is known of it is shown."""
    if record.handle is None:
        return None
    try:
        return await job_backend(record.plan.backend).status(record)
    except DtrainError:
        return None


def _link_rest(source: Path, code: Path, left: tuple[str, ...]) -> None:
    """On this machine what was too large to be packed is led to, not copied."""
    try:
        private_folders(code)
        for path in left:
            target = code / path
            private_folders(target.parent)
            if not target.is_symlink():
                target.symlink_to(source / path)
    except OSError as error:
        raise Unreachable(
            f"{code} can't be written: {error.strerror}.",
            "Set workdir in the profile to a folder of yours.",
        ) from error
