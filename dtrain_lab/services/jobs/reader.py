"""Reads one job: log, metrics, stacks, executed notebook, and its folder as an archive."""

from __future__ import annotations

import posixpath
from collections.abc import Collection

import msgspec

from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.errors import Conflict, NotFound, Unreachable
from dtrain_lab.jobs import chart_values, logged_values
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.job_errors import traceback_mark
from dtrain_lab.jobs.judgement import HEAD_ENDED, answers
from dtrain_lab.jobs.notebook.sections import sections
from dtrain_lab.services.connection import Connection, endpoints
from dtrain_lab.services.connection.presence import Presence
from dtrain_lab.services.jobs import log as job_log
from dtrain_lab.services.policy import backends
from dtrain_lab.wire import clients
from dtrain_lab.wire.jobs.job import Job, JobMetrics, JobRecord, Logged
from dtrain_lab.wire.jobs.log import LogMatches, LogPiece
from dtrain_lab.wire.jobs.logged import ValuesLine
from dtrain_lab.wire.kinds import JOB_ENDED
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.stacks import Stack

STACKS_WITHIN_S = 15.0
MOST_READ = 1 << 20
"""Bytes of logged values that are read for charts, about 10,000 calls; the history has those before."""


class JobReader:
    """Reads one job.

    Args:
        record: The job's record.
        job: Its current state.
    """

    def __init__(self, record: JobRecord, job: Job) -> None:
        self._record = record
        self._job = job
        self._places = backends.backend(record.plan.backend).files(record)

    @property
    def job(self) -> Job:
        """State of the job when this reader was made."""
        return self._job

    @property
    def is_far(self) -> bool:
        """Whether the job's files are on another machine."""
        return not isinstance(self._places[0].transport, LocalTransport)

    async def log_sizes(self) -> tuple[int, ...]:
        """Return the sizes of the log's files, in bytes."""
        return await job_log.sizes(self._record, self._places)

    async def values(self, offset: int = 0) -> tuple[tuple[ValuesLine, ...], int]:
        """Read what rank 0 has passed to `dt.log`, in order of time.

        Args:
            offset: Bytes that were read before.

        Returns:
            The values, and the offset at which the next call continues.
        """
        path = f"{self._record.directory}/{job_files.VALUES}"
        text = await self._places[0].transport.read(path, offset) or b""
        piece = logged_values.parse(text)
        return piece.values, offset + piece.size

    async def logs(
        self,
        *,
        offset: str = job_log.START,
        ranks: Collection[int] | None = None,
        first_error: bool = False,
        search: str = "",
    ) -> LogPiece:
        """Read a piece of the log.

        Args:
            offset: "start", "end", or the offset that the previous piece returned.
            ranks: Ranks whose lines are returned; None for all.
            first_error: Start shortly before the job's error.
            search: Start shortly before the next line of these ranks that contains this text.

        Raises:
            BadRequest: The offset is invalid.
            NotFound: None of these ranks wrote the text after the offset.
        """
        error = self._job.error
        text, before = search, job_log.written_by(ranks)
        if first_error and error is not None:
            text, before = traceback_mark(error), b""
        if text:
            position = await job_log.find(self._record, self._places, text, offset, before)
            if position is None and search:
                raise NotFound(f'"{search}" was not found in the rest of the log.', "", code="not_in_log")
            offset = position or (job_log.END if first_error else offset)
        part = await job_log.read(self._record, self._places, offset, ranks)
        end = self._job.state in JOB_ENDED and not part.more
        return LogPiece(part.lines, part.offset, end, error, part.start, part.bars, part.more)

    async def log_matches(
        self, text: str, *, offset: str = job_log.START, ranks: Collection[int] | None = None
    ) -> LogMatches:
        """Count the lines of the log that contain a text, as a search finds them.

        Args:
            text: The text.
            offset: "start", "end", or an offset that a piece returned.
            ranks: Ranks whose lines are counted; None for all.

        Raises:
            BadRequest: The offset is invalid.
            Unreachable: The log can't be read.
        """
        before = job_log.written_by(ranks)
        return await job_log.count(self._record, self._places, text, offset, before)

    async def metrics(self) -> JobMetrics:
        """Return current metrics, their history, and what was logged."""
        history = await self.history()
        logged = tuple(chart_values.thinned(await self._latest_values(history)))
        return JobMetrics(**msgspec.structs.asdict(self._job.metrics), history=history, logged=logged)

    async def history(self) -> tuple[Point, ...]:
        """Return the metric history, oldest first."""
        path = f"{self._record.directory}/{job_files.HISTORY}"
        text = await self._places[0].transport.read(path) or b""
        points = (_point(line) for line in text.splitlines())
        return tuple(point for point in points if point is not None)

    async def _latest_values(self, history: tuple[Point, ...]) -> list[Logged]:
        """Read all values of a short job; of a long one the latest, with those of the history before them."""
        path = f"{self._record.directory}/{job_files.VALUES}"
        offset = max(0, await self._places[0].transport.size(path) - MOST_READ)
        text = await self._places[0].transport.read(path, offset) or b""
        whole = text[text.find(b"\n") + 1 :] if offset else text
        logged = [Logged(line.at, line.step, line.values) for line in logged_values.parse(whole).values]
        logged.sort(key=lambda entry: entry.at)  # means come some time after what rank 0 logs
        before = chart_values.from_history(history, logged[0].at) if offset and logged else []
        return before + logged

    async def stacks(self, ranks: tuple[int, ...] | None = None) -> list[Stack]:
        """Return the current stacks of each rank's threads.

        Raises:
            Conflict: The job is not running.
            Unreachable: Its head can't be reached.
        """
        connection = await self.connect()
        try:
            stacks: list[Stack] = await connection.ask(clients.Stacks(ranks), STACKS_WITHIN_S)
            return stacks
        finally:
            connection.close()

    async def connect(self) -> Connection:
        """Connect to the job's head.

        Raises:
            Conflict: The job is not running.
            Unreachable: Its head can't be reached.
            WireMismatch: The address of its head can't be read.
        """
        record, name = self._record, self._job.name
        if self._job.state in JOB_ENDED or record.handle is None:
            raise Conflict(f"{name} is not running.", "Its log has its output so far.", code="not_running")
        reason = self._job.reason
        if reason is not None and not answers(self._job):
            raise Unreachable(f"{name} can't be asked. {reason.message}", reason.hint, code=HEAD_ENDED)
        head_endpoints = await endpoints.read(self._places[0].transport, record.directory, name)
        if head_endpoints is None and self._job.state in ("queued", "starting"):
            raise Conflict(f"{name} has not started yet.", "Try again once it runs.", code="not_running")
        if head_endpoints is None:
            raise Unreachable(f"{name} has no running head.", "See head.log in its folder.")
        address = await backends.backend(record.plan.backend).reach(record, head_endpoints)
        connection = Connection(record.id, name, record.directory, lambda c: Presence(c, address))
        await connection.open()
        return connection

    async def cell_names(self) -> dict[str, str]:
        """Return the cells of the submitted notebook: text → name in the job."""
        code = f"{self._record.directory}/{job_files.CODE}"
        notebook = posixpath.basename(self._record.request.notebook)
        script = await self._places[0].transport.read(f"{code}/{job_files.MAIN}") or b""
        text = await self._places[0].transport.read(f"{code}/{notebook}")
        if text is None:
            return {}
        names = {part.id: part.name for part in sections(script.decode()) if part.name.startswith("[")}
        by_source = {}
        for cell in msgspec.json.decode(text)["cells"]:
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            if cell.get("id") in names:
                by_source[source] = names[cell["id"]]
        return by_source

    async def executed(self) -> bytes:
        """Return the executed notebook from the job's folder, with rank 0's output so far.

        Raises:
            NotFound: No cell has started.
        """
        notebook = await self._places[0].transport.read(f"{self._record.directory}/{job_files.EXECUTED}")
        if notebook is None:
            raise NotFound(
                f"{self._job.name} has no executed notebook.", "The file is written when the first cell runs."
            )
        return notebook

    @property
    def code(self) -> str:
        """Folder of the job's code."""
        return f"{self._record.directory}/{job_files.CODE}"

    async def export(self) -> bytes:
        """Pack notebook, script, packages, parameters, metrics and logs, without checkpoints, into a .tar.gz.

        Raises:
            Unreachable: The job's folder can't be read.
        """
        left = [
            f"--exclude=./{name}" for name in (job_files.CHECKPOINTS, job_files.ENDPOINTS, job_files.GANG)
        ]
        command = ["tar", "-czf", "-", *left, "-C", self._record.directory, "."]
        done = await self._places[0].transport.run(command)
        if done.code:
            raise Unreachable(
                f"The folder of {self._job.name} can't be read: {done.err.strip()}", "Is it there?"
            )
        return done.out


def _point(line: bytes) -> Point | None:
    """Parse a line of the history; None for an incomplete line (being written, or the disk was full)."""
    try:
        return msgspec.json.decode(line, type=Point)
    except msgspec.DecodeError:
        return None
