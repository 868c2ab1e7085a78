"""What one job has written, and what it does now: log, figures, stacks, its folder for a colleague."""

from __future__ import annotations

import posixpath
from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from dtrain_lab.backends import registry
from dtrain_lab.backends.base import Way
from dtrain_lab.backends.jobs import job_backend
from dtrain_lab.core import jobfiles
from dtrain_lab.core.cluster import Stack
from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.core.history import Point
from dtrain_lab.core.job import Job, JobMetrics, JobRecord, LogPiece
from dtrain_lab.core.job_state import traceback_mark
from dtrain_lab.core.kinds import JOB_ENDED
from dtrain_lab.core.notebook.sections import sections
from dtrain_lab.core.wire import doors
from dtrain_lab.errors import Conflict, NotFound, Unreachable
from dtrain_lab.services import joblog
from dtrain_lab.services.ask import ask
from dtrain_lab.services.reach import JobConnection


class JobReader:
    """Reads one job.

    Args:
        record: its truth.
        job: as it was just seen.
    """

    def __init__(self, record: JobRecord, job: Job) -> None:
        self._record = record
        self._job = job
        self._places = job_backend(record.plan.backend).places(record)

    async def logs(
        self,
        *,
        offset: str = joblog.START,
        ranks: Collection[int] | None = None,
        first_error: bool = False,
        search: str = "",
    ) -> LogPiece:
        """A piece of the log.

        Args:
            offset: "start", "end", or the offset of the piece before.
            ranks: whose lines; None for all.
            first_error: begin a little before *the* error.
            search: begin a little before the next line with this text.

        Raises:
            BadRequest: the offset is none.
            NotFound: the text is not in the log from there on.
        """
        error = self._job.error
        text = traceback_mark(error) if first_error and error is not None else search
        if text:
            found = await joblog.find(self._record, self._places, text, offset)
            if found is None and search:
                raise NotFound(f'"{search}" is not in the log from here on.', "", code="not_in_log")
            offset = found or (joblog.END if first_error else offset)
        lines, reached, more = await joblog.read(self._record, self._places, offset, ranks)
        return LogPiece(lines, reached, self._job.state in JOB_ENDED and not more, error)

    async def metrics(self) -> JobMetrics:
        """Figures, now, and their history."""
        path = f"{self._record.directory}/{jobfiles.HISTORY}"
        text = await self._places[0].transport.read(path) or b""
        history = [msgspec.json.decode(line, type=Point) for line in text.splitlines() if line.strip()]
        return JobMetrics(**msgspec.structs.asdict(self._job.metrics), history=tuple(history))

    async def stacks(self, ranks: tuple[int, ...] | None = None) -> list[Stack]:
        """What the threads of each rank do now.

        Raises:
            Conflict: it does not run.
            Unreachable: its head can't be reached.
        """
        stacks: list[Stack] = await ask(await self.head(), doors.Stacks(ranks), self._job.name)
        return stacks

    async def head(self) -> Way:
        """The way to its head.

        Raises:
            Conflict: it does not run.
            Unreachable: its head can't be reached.
        """
        record, name = self._record, self._job.name
        if self._job.state in JOB_ENDED or record.handle is None:
            raise Conflict(f"{name} does not run.", "Its log has what it wrote.", code="not_running")
        text = await self._places[0].transport.read(f"{record.directory}/{jobfiles.ENDPOINTS}")
        if text is None:
            raise Unreachable(f"{name} has no head that could be asked.", "See head.log in its folder.")
        endpoints = msgspec.json.decode(text, type=Endpoints)
        handle = replace(record.handle, directory=endpoints.directory, endpoints=endpoints)
        return await registry.backend(record.plan.backend).reach(record.profile, handle, endpoints)

    async def connect(self) -> JobConnection:
        """A connection to its head, for a debugger.

        Raises:
            Conflict, Unreachable: there is none.
        """
        connection = JobConnection(self._job, await self.head())
        await connection.open()
        return connection

    async def cell_names(self) -> dict[str, str]:
        """The notebook's cells as they were submitted: text → name in the job."""
        code = f"{self._record.directory}/{jobfiles.CODE}"
        notebook = posixpath.basename(self._record.request.notebook)
        script = await self._places[0].transport.read(f"{code}/{jobfiles.MAIN}") or b""
        text = await self._places[0].transport.read(f"{code}/{notebook}")
        if text is None:
            return {}
        names = {part.id: part.name for part in sections(script.decode()) if part.name.startswith("[")}
        found = {}
        for cell in msgspec.json.decode(text)["cells"]:
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            if cell.get("id") in names:
                found[source] = names[cell["id"]]
        return found

    @property
    def code(self) -> str:
        """Folder of its code."""
        return f"{self._record.directory}/{jobfiles.CODE}"

    async def export(self) -> bytes:
        """Notebook, script, packages, parameters, figures and logs, as a .tar.gz; checkpoints stay behind."""
        left = [f"--exclude=./{name}" for name in (jobfiles.CHECKPOINTS, jobfiles.ENDPOINTS, jobfiles.GANG)]
        words = ["tar", "-czf", "-", *left, "-C", self._record.directory, "."]
        done = await self._places[0].transport.run(words)
        if done.code:
            raise Unreachable(
                f"The folder of {self._job.name} can't be read: {done.err.strip()}", "Is it there?"
            )
        return done.out
