"""The Slurm back-end: a cluster or a job is a batch script with a folder that all nodes share."""

from __future__ import annotations

import asyncio
import logging
import shlex
import socket
from collections.abc import Mapping
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from dtrain_lab.backends.base import UNSURE, Backend, HeadAddress, Place, StartForecast
from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.backends.hosts.transport import transport
from dtrain_lab.backends.network_speed import Pair
from dtrain_lab.backends.slurm import account_hours, allocation, partitions, reasons
from dtrain_lab.backends.slurm.queue import Queue
from dtrain_lab.backends.slurm.routes import Routes
from dtrain_lab.backends.slurm.script import REQUEUE, batch
from dtrain_lab.backends.slurm.steps import run_step
from dtrain_lab.errors import DtrainError, StartFailed, Unreachable
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.placement import activation
from dtrain_lab.placement.amounts import time_s
from dtrain_lab.wire.cluster import Alternative
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.node_check import Between, Check
from dtrain_lab.wire.plan import Facts, Plan, Request, SchedulerFacts
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import Submission
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits

log = logging.getLogger("dtrain_lab.client")
FACTS_FOR_S = 300.0
SUBMIT_WITHIN_S = 60.0


class SlurmBackend(Backend):
    """Runs clusters and jobs through Slurm's commands, on this machine or on a login node."""

    name = "slurm"
    traits = Traits(schedules=True, shares_folder=True, starts_agents=True, launchers=("srun", "torchrun"))

    def __init__(self) -> None:
        self._queues: dict[str | None, Queue] = {}
        self._facts: dict[str | None, tuple[float, SchedulerFacts]] = {}
        self._routes = Routes()

    async def facts(self, profile: Profile) -> SchedulerFacts:
        """Return partitions with their nodes; queried at most every five minutes.

        Raises:
            Unreachable: `sinfo` fails.
        """
        if allocation.used(profile):
            return await allocation.facts(profile)
        login = profile.ssh.login
        now = asyncio.get_running_loop().time()
        known = self._facts.get(login)
        if known is None or now - known[0] > FACTS_FOR_S:
            done = await transport(login).run(["sinfo", "-h", "-N", "-o", partitions.SINFO])
            if done.code:
                raise Unreachable(
                    f"Slurm does not answer: {reasons.last_line(done.err)}.", "Is the scheduler up?"
                )
            known = now, SchedulerFacts(partitions.parsed(done.out.decode("utf-8", "replace").splitlines()))
            self._facts[login] = known
        return known[1]

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        """Check as many nodes of the partition as the profile uses, in a short step.

        Raises:
            StartFailed: Slurm refuses the step, or no node is free now.
        """
        plan = await self._plan_of(profile, python)
        nodes = len(plan.nodes)
        command = [*activation.python(profile.environment, python), "-P", "-m", "dtrain_lab.node", "check"]
        command += [profile.workdir] if profile.workdir else []
        asked = [f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"]
        done = await run_step(profile, plan, asked, command)
        if done.code:
            last = [line for line in done.err.strip().splitlines() if line.strip()]
            raise StartFailed(*reasons.refusal(last[-1] if last else "no node is free now"), code="refused")
        found = [
            msgspec.json.decode(line, type=Check) for line in done.out.splitlines() if line.startswith(b"{")
        ]
        return {one.facts.name: one for one in sorted(found, key=lambda c: c.facts.name)}

    async def speed(self, profile: Profile, python: str, checks: dict[str, Check]) -> Between | None:
        """Measure the speed between two of the checked nodes, in a short step on just these."""
        pair = Pair.of(checks, profile)
        if pair is None:
            return None
        command = [*activation.python(profile.environment, python), "-P", "-m", *pair.command, "SLURM_PROCID"]
        # tasks are numbered in the order of the node names: the first task listens
        asked = ["--nodes=2", "--ntasks=2", "--ntasks-per-node=1", f"--nodelist={pair.first},{pair.second}"]
        plan = await self._plan_of(profile, python)
        return pair.measured((await run_step(profile, plan, asked, command)).out)

    async def _plan_of(self, profile: Profile, python: str) -> Plan:
        facts = await self.facts(profile)
        return self.plan(facts, profile, Request(profile.name), python=python, directory="/")

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """Plan as many nodes of the partition as the request needs."""
        assert isinstance(facts, SchedulerFacts)
        made = partitions.plan_slurm(profile, request, facts, python=python, directory=directory)
        return replace(made, traits=self.traits)

    def scripts(self, submission: Submission) -> dict[str, str]:
        """Return the batch script."""
        return {job_files.BATCH: batch(submission)}

    def command(self, submission: Submission) -> str:
        """Return the command that submits the script by hand."""
        return f"sbatch {shlex.quote(submission.directory)}/{job_files.BATCH}"

    async def submit(self, submission: Submission, files: Mapping[str, bytes]) -> Handle:
        """Write the submission's folder, and submit its script.

        Raises:
            StartFailed: Slurm refuses the script; its folder is removed.
        """
        profile = submission.profile
        commands = transport(profile.ssh.login)
        folder = submission.directory
        await commands.write(folder, files)
        if allocation.runs(submission):
            return await allocation.start(submission, commands)
        command = ["sbatch", "--parsable"]
        if submission.after is not None:
            command += [f"--dependency=afterok:{submission.after}", "--kill-on-invalid-dep=yes"]
        try:
            done = await commands.run([*command, f"{folder}/{job_files.BATCH}"], within_s=SUBMIT_WITHIN_S)
        except Unreachable as error:
            return await self._maybe_submitted(submission, error)
        if done.code and reasons.is_unsure(done.err):
            why = f"Slurm did not answer: {reasons.last_line(done.err)}."
            return await self._maybe_submitted(submission, Unreachable(why, "Submit again in a minute."))
        if done.code:
            await commands.remove(folder)
            raise StartFailed(*reasons.refusal(done.err), code="refused")
        self._queue(profile).hurry()
        return self._handle(submission, done.out.decode().strip().split(";")[0])

    async def _maybe_submitted(self, submission: Submission, error: Unreachable) -> Handle:
        """Return the handle of a submission that the scheduler did not confirm, if the scheduler has it.

        Raises:
            Unreachable: The scheduler does not have it now, or can't be asked. A job's folder is kept, as the
                scheduler may accept it later; a cluster's is removed, which makes its script end at once.
        """
        self._queue(submission.profile).hurry()
        try:
            handle = await self.find(submission)
        except Unreachable as silent:
            log.info("%s: %s", submission.id, silent)
            handle = None
        if handle is not None:
            return handle
        if submission.interactive:
            with suppress(Unreachable):
                await transport(submission.profile.ssh.login).remove(submission.directory)
            raise error
        message = f"{error.message} Slurm may have accepted the job anyway."
        raise Unreachable(message, "dtrain-lab keeps asking.", code=UNSURE) from error

    async def status(self, submission: Submission) -> Status:
        """Return the job's state, and why it is pending."""
        assert submission.handle is not None
        number, queue = submission.handle.job, self._queue(submission.profile)
        job = await queue.job(number, fresh=False)
        if job is None:
            job = await queue.job(number, fresh=True)
        if job is None:
            return Status("ended")
        reason = reasons.reason(job.reason, job.state)
        if job.state in partitions.WAITING:
            if reason is not None and not reason.final:
                reason = replace(
                    reason,
                    expected_start_at=job.expected_at,
                    ahead=queue.ahead(number),
                    alternatives=await self._sooner(submission) if reason.code == "Resources" else (),
                )
            return Status("pending", reason)
        if job.state.split()[0] in reasons.ENDED:
            return Status("ended", reason)
        return Status("running")

    async def cancel(self, submission: Submission) -> None:
        """Cancel the job unless it has ended; another Slurm cluster's job with the same number is left alone.

        Raises:
            Unreachable: The scheduler does not answer.
        """
        profile = submission.profile
        commands = transport(profile.ssh.login)
        if allocation.runs(submission):
            await allocation.end(submission, commands)
            return
        job = await self.find(submission)
        if job is None:
            return
        done = await commands.run(["scancel", job.job])
        self._queue(profile).hurry()
        if done.code:
            raise Unreachable(f"Slurm did not cancel it: {reasons.last_line(done.err)}.", "Try again.")

    async def find(self, submission: Submission) -> Handle | None:
        """Find a job by its comment, also if a crash prevented its number from being recorded."""
        job = await self._queue(submission.profile).by_comment(f"dtl:{submission.id}")
        if job is None or job.state.split()[0] in reasons.ENDED:
            return None
        return self._handle(submission, job.id)

    async def reach(self, submission: Submission, endpoints: Endpoints | None, port: str = "") -> HeadAddress:
        """Return an address: over TCP if possible, else through the login node or a step of the job.

        Raises:
            Unreachable: The job has no head yet, or no way to it is open.
        """
        assert submission.handle is not None
        if endpoints is None:
            raise Unreachable(f"The job {submission.handle.job} has no head yet.", "Wait until it runs.")
        if port:
            return await self._routes.to_port(submission, endpoints, port)
        return await self._routes.to_client(submission, endpoints)

    def files(self, submission: Submission) -> list[Place]:
        """Return the folder, which all nodes share."""
        nodes = tuple(range(len(submission.plan.nodes)))
        return [Place(transport(submission.profile.ssh.login), nodes)]

    def roots(self, profile: Profile) -> list[Transport]:
        """Return the transport to Slurm's commands."""
        return [transport(profile.ssh.login)]

    def time_limit_s(self, profile: Profile) -> float | None:
        return time_s(profile.slurm.time) if profile.slurm.time else None

    def requeues(self, profile: Profile) -> bool:
        return REQUEUE in profile.slurm.options

    def options(self, profile: Profile) -> tuple[str, ...]:
        return profile.slurm.options

    def where(self, profile: Profile) -> str:
        return repr((profile.ssh, profile.slurm.partition))

    def as_asked(self, profile: Profile, request: JobRequest) -> Profile:
        own = profile.slurm
        partition, time = request.partition or own.partition, request.time or own.time
        options = (*own.options, *request.options)
        return replace(profile, slurm=replace(own, partition=partition, time=time, options=options))

    def without_time_limit(self, profile: Profile) -> Profile:
        return replace(profile, slurm=replace(profile.slurm, time=None))

    async def forecast(self, submission: Submission) -> StartForecast:
        """Run `sbatch --test-only`, and query the account's remaining budget."""
        text = self.scripts(submission)[job_files.BATCH]
        commands = transport(submission.profile.ssh.login)
        done, left = await asyncio.gather(
            commands.run(["sbatch", "--test-only"], text.encode()), account_hours.remaining(submission)
        )
        if done.code:
            refused = Finding("problem", "refused", *reasons.refusal(done.err), field="profile")
            return StartForecast(refused=refused, budget=left)
        return StartForecast(partitions.test_start(done.err), budget=left)

    # ----

    async def _sooner(self, submission: Submission) -> tuple[Alternative, ...]:
        """Return smaller requests that fit on nodes that were idle when `facts` last asked."""
        try:
            facts = await self.facts(submission.profile)
            return partitions.sooner(submission.plan, submission.profile, facts)
        except DtrainError as error:  # a suggestion must not hide why the world waits
            log.info("%s: no alternatives: %s", submission.id, error)
            return ()

    def _queue(self, profile: Profile) -> Queue:
        login = profile.ssh.login
        if login not in self._queues:
            self._queues[login] = Queue(transport(login), lambda: self.poll_floor_s())
        return self._queues[login]

    def _handle(self, submission: Submission, job: str) -> Handle:
        host = submission.profile.ssh.login or socket.gethostname()
        return Handle(submission.id, host, directory=submission.directory, job=job)
