"""Jobs of Slurm, here or through a login node."""

from __future__ import annotations

import shlex
import socket

from dtrain_lab.backends import registry
from dtrain_lab.backends.base import Status
from dtrain_lab.backends.jobs.base import Place
from dtrain_lab.backends.transport import transport
from dtrain_lab.core import job_script, jobfiles, slurm
from dtrain_lab.core.finding import Finding
from dtrain_lab.core.job import JobRecord
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.record import Handle
from dtrain_lab.core.slots import NodeSlots
from dtrain_lab.errors import BadRequest, StartFailed


class SlurmJobs:
    """Batch scripts."""

    name = "slurm"

    async def base(self, record_workdir: str | None, record: JobRecord | None = None) -> str:
        """The profile's workdir, which all nodes share."""
        return f"{record_workdir or '.dtrain-lab'}/jobs"

    def scripts(self, record: JobRecord) -> dict[str, str]:
        """The batch script."""
        return {jobfiles.BATCH: job_script.for_slurm(record)}

    def command(self, record: JobRecord) -> str:
        """By hand."""
        return f"sbatch {shlex.quote(record.directory)}/{jobfiles.BATCH}"

    async def would_start(self, record: JobRecord) -> tuple[float | None, Finding | None]:
        """`sbatch --test-only`."""
        text = self.scripts(record)[jobfiles.BATCH]
        done = await transport(record.profile.ssh.login).run(["sbatch", "--test-only"], text.encode())
        if done.code:
            return None, Finding("problem", "refused", *slurm.refusal(done.err), field="profile")
        return slurm.test_start(done.err), None

    async def submit(self, record: JobRecord, files: dict[str, bytes]) -> Handle:
        """Hand the script to the scheduler."""
        way = transport(record.profile.ssh.login)
        await way.write(record.directory, files)
        words = ["sbatch", "--parsable"]
        if record.request.after is not None:
            words += [f"--dependency=afterok:{record.request.after}", "--kill-on-invalid-dep=yes"]
        done = await way.run([*words, f"{record.directory}/{jobfiles.BATCH}"])
        if done.code:
            await way.remove(record.directory)
            raise StartFailed(*slurm.refusal(done.err), code="refused")
        job = done.out.decode().strip().split(";")[0]
        return self._handle(record, job)

    async def status(self, record: JobRecord) -> Status:
        """What the scheduler says."""
        assert record.handle is not None
        return await registry.backend("slurm").status(record.profile, record.handle)

    async def find(self, record: JobRecord) -> Handle | None:
        """A job by the comment that it was submitted with."""
        return await registry.backend("slurm").find(record.profile, record.id, record.directory)

    async def cancel(self, record: JobRecord) -> None:
        """Cancel it."""
        assert record.handle is not None
        await transport(record.profile.ssh.login).run(["scancel", record.handle.job])

    async def slots(self, profile: Profile) -> tuple[NodeSlots, ...]:
        """Not ours to say."""
        raise _scheduled(profile)

    async def stop(self, profile: Profile, identity: str) -> None:
        """Not ours to do."""
        raise _scheduled(profile)

    def places(self, record: JobRecord) -> list[Place]:
        """All nodes share it."""
        nodes = tuple(range(len(record.plan.nodes)))
        return [Place(transport(record.profile.ssh.login), nodes)]

    def _handle(self, record: JobRecord, job: str) -> Handle:
        host = record.profile.ssh.login or socket.gethostname()
        return Handle(record.id, host, directory=record.directory, job=job)


def _scheduled(profile: Profile) -> BadRequest:
    return BadRequest(
        f'Slurm gives the slots of the profile "{profile.name}".', "See them with: sinfo, squeue"
    )
