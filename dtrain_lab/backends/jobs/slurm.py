"""Jobs of Slurm, here or through a login node."""

from __future__ import annotations

import asyncio
import shlex
import socket

from dtrain_lab.backends import registry
from dtrain_lab.backends.base import Status
from dtrain_lab.backends.jobs.base import Forecast, Place
from dtrain_lab.backends.transport import transport
from dtrain_lab.core import budget, job_script, jobfiles, slurm
from dtrain_lab.core.budget import Budget
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

    async def forecast(self, record: JobRecord) -> Forecast:
        """`sbatch --test-only`, and what its account has left."""
        text = self.scripts(record)[jobfiles.BATCH]
        way = transport(record.profile.ssh.login)
        done, left = await asyncio.gather(
            way.run(["sbatch", "--test-only"], text.encode()), self._budget(record)
        )
        if done.code:
            refused = Finding("problem", "refused", *slurm.refusal(done.err), field="profile")
            return Forecast(refused=refused, budget=left)
        return Forecast(slurm.test_start(done.err), budget=left)

    async def _budget(self, record: JobRecord) -> Budget | None:
        """Hours that are left to the account, with what the job may take of them."""
        plan, options = record.plan, record.profile.slurm
        words = ["bash", "-c", budget.SCRIPT, "bash", options.account or "", options.qos or ""]
        told = (await transport(record.profile.ssh.login).run(words)).out.decode(errors="replace")
        gpus = sum(min(node.ranks, node.gpus) for node in plan.nodes)
        left = budget.read(told, "GPU" if gpus else "CPU", slurm.gpu_kind(options.gres or ""))
        amount = gpus or plan.size * (plan.cpus_per_rank or 1)
        limit = slurm.time_s(options.time) if options.time is not None else None
        return budget.asked(left, amount, limit) if left is not None else None

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
