"""A submission with an allocation of its own: a job in Slurm's queue."""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable, Mapping

from msgspec.structs import replace

from dtrain_lab.backends.base import UNSURE
from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.backends.slurm import partitions, reasons
from dtrain_lab.backends.slurm.queue import Queue
from dtrain_lab.errors import StartFailed, Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.cluster import Alternative
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import Submission
from dtrain_lab.wire.status import Status

log = logging.getLogger("dtrain_lab.client")
SUBMIT_WITHIN_S = 60.0


def sbatch(submission: Submission) -> list[str]:
    """Return the command that submits the script of a cluster or job, as words."""
    command = ["sbatch", "--parsable"]
    if submission.after is not None:
        command += [f"--dependency=afterok:{submission.after}", "--kill-on-invalid-dep=yes"]
    return [*command, f"{submission.directory}/{job_files.BATCH}"]


class BatchJob:
    """A cluster or job with an allocation of its own. Implements `backends.processes.Processes`.

    Args:
        submission: The cluster or job.
        commands: Transport to Slurm's commands.
        queue: This user's jobs there.
        sooner: Returns smaller requests that could start sooner.
    """

    def __init__(
        self,
        submission: Submission,
        commands: Transport,
        queue: Queue,
        sooner: Callable[[], Awaitable[tuple[Alternative, ...]]],
    ) -> None:
        self._submission = submission
        self._commands = commands
        self._queue = queue
        self._sooner = sooner

    async def start(self, files: Mapping[str, bytes]) -> Handle:
        """Write the folder, and submit its script.

        Raises:
            StartFailed: Slurm refuses the script; its folder is removed.
            Unreachable: Slurm did not confirm that it has the job (`UNSURE`), or can't be asked at all.
        """
        submission, folder = self._submission, self._submission.directory
        await self._commands.write(folder, files)
        try:
            done = await self._commands.run(sbatch(submission), within_s=SUBMIT_WITHIN_S)
        except Unreachable as error:
            return await self._found_after(error)
        if done.code < 0 or (done.code and reasons.is_unsure(done.err)):  # below 0: ended by a signal
            why = f"Slurm did not answer: {reasons.last_line(done.err) if done.code > 0 else done.why}."
            return await self._found_after(Unreachable(why, "Submit again in a minute."))
        if done.code:
            await self._commands.remove(folder)
            raise StartFailed(*reasons.refusal(done.err), code="refused")
        self._queue.hurry()
        return self._handle(done.out.decode().strip().split(";")[0])

    async def _found_after(self, error: Unreachable) -> Handle:
        """Return the handle of a submission that the scheduler did not confirm, if the scheduler has it.

        Args:
            error: Why it is not confirmed.

        Raises:
            Unreachable: The scheduler does not have it now, or can't be asked. A job's folder is kept, as the
                scheduler may accept it later; a cluster's is removed, which makes its script end at once. If
                even that fails, the cluster may have been submitted (`UNSURE`).
        """
        self._queue.hurry()
        try:
            handle = await self.find()
        except Unreachable as silent:
            log.info("%s: %s", self._submission.id, silent)
            handle = None
        if handle is not None:
            return handle
        if self._submission.interactive:
            try:
                await self._commands.remove(self._submission.directory)
            except Unreachable as silent:
                log.info("%s: %s", self._submission.id, silent)
            else:
                raise error
        what = "cluster" if self._submission.interactive else "job"
        message = f"{error.message} Slurm may have accepted the {what} anyway."
        raise Unreachable(message, "dtrain-lab keeps asking.", code=UNSURE) from error

    async def status(self) -> Status:
        """Return the job's state, and why it is pending."""
        assert self._submission.handle is not None
        number = self._submission.handle.job
        job = await self._queue.job(number, fresh=False)
        if job is None:
            job = await self._queue.job(number, fresh=True)
        if job is None:
            return Status("ended")
        reason = reasons.reason(job.reason, job.state)
        if job.state in partitions.WAITING:
            if reason is not None and not reason.final:
                reason = replace(
                    reason,
                    expected_start_at=job.expected_at,
                    ahead=self._queue.ahead(number),
                    alternatives=await self._sooner() if reason.code == "Resources" else (),
                )
            return Status("pending", reason)
        return Status("ended", reason) if job.is_over else Status("running")

    async def find(self, *, fresh: bool = True) -> Handle | None:
        """Find the job by its comment.

        Args:
            fresh: Ask the scheduler now, whenever it was asked last.
        """
        job = await self._queue.by_comment(self._comment, fresh=fresh)
        return None if job is None or job.is_over else self._handle(job.id)

    async def cancel(self) -> None:
        """Cancel the job unless it has ended; another Slurm cluster's job with the same number is left alone.

        Raises:
            Unreachable: The scheduler does not answer, did not cancel the job, or never said that it has it.
        """
        job = await self._queue.by_comment(self._comment)
        if job is None:
            await self._must_have_ended()
            return
        if job.is_over:
            return
        done = await self._commands.run(["scancel", job.id])
        self._queue.hurry()
        if done.code and await self.find() is not None:
            why = reasons.last_line(done.err)
            raise Unreachable(f"Slurm did not cancel {self._submission.name}: {why}.", "Try again.")

    async def _must_have_ended(self) -> None:
        """Check that a job which Slurm does not list by its comment can only have ended.

        Raises:
            Unreachable: Slurm may still accept it, or lists its number with another comment.
        """
        submission = self._submission
        if submission.handle is None:
            text = f"Slurm has not said yet whether it has {submission.name}."
            raise Unreachable(text, "Try again in a minute.", code=UNSURE)
        number = submission.handle.job
        job = await self._queue.job(number)  # of the query by the comment
        if job is not None and not job.is_over:
            raise Unreachable(
                f"Slurm's job {number} may be another one than {submission.name}: its comment differs.",
                f"If it is {submission.name}, cancel it: scancel {number}",
                code="not_confirmed",
            )

    @property
    def _comment(self) -> str:
        return f"dtl:{self._submission.id}"

    def _handle(self, number: str) -> Handle:
        submission = self._submission
        host = submission.profile.ssh.login or socket.gethostname()
        return Handle(submission.id, host, directory=submission.directory, job=number)
