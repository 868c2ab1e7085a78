"""The Slurm back-end: a cluster or a job is a batch script with a folder that all nodes share."""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec.structs import replace

from dtrain_lab.backends.base import Backend, HeadAddress, Place, StartForecast
from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.backends.hosts.transport import transport
from dtrain_lab.backends.network_speed import Pair
from dtrain_lab.backends.processes import Processes
from dtrain_lab.backends.slurm import account_hours, allocation, partitions, reasons
from dtrain_lab.backends.slurm.batch_jobs import BatchJob, sbatch
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
        cached = self._facts.get(login)
        if cached is None or now - cached[0] > FACTS_FOR_S:
            done = await transport(login).run(["sinfo", "-h", "-N", "-o", partitions.SINFO])
            if done.code:
                raise Unreachable(*reasons.silence(done.err, login or "this machine"))
            cached = now, SchedulerFacts(partitions.parsed(done.out.decode("utf-8", "replace").splitlines()))
            self._facts[login] = cached
        return cached[1]

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        """Check as many nodes of the partition as the profile uses, in a short step.

        Raises:
            StartFailed: Slurm refuses the step, or no node is free now.
        """
        plan = await self._plan_of(profile, python)
        nodes = len(plan.nodes)
        command = [*activation.python(profile.environment, python), "-P", "-m", "dtrain_lab.node", "check"]
        command += [profile.workdir] if profile.workdir else []
        options = [f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"]
        done = await run_step(profile, plan, options, command)
        if done.code:
            last = [line for line in done.err.strip().splitlines() if line.strip()]
            raise StartFailed(*reasons.refusal(last[-1] if last else "no node is free now"), code="refused")
        parsed = [
            msgspec.json.decode(line, type=Check) for line in done.out.splitlines() if line.startswith(b"{")
        ]
        return {check.facts.name: check for check in sorted(parsed, key=lambda c: c.facts.name)}

    async def speed(self, profile: Profile, python: str, checks: dict[str, Check]) -> Between | None:
        """Measure the speed between two of the checked nodes, in a short step on just these."""
        pair = Pair.of(checks, profile)
        if pair is None:
            return None
        command = [*activation.python(profile.environment, python), "-P", "-m", *pair.command, "SLURM_PROCID"]
        # tasks are numbered in the order of the node names: the first task listens
        options = ["--nodes=2", "--ntasks=2", "--ntasks-per-node=1", f"--nodelist={pair.first},{pair.second}"]
        plan = await self._plan_of(profile, python)
        return pair.measured((await run_step(profile, plan, options, command)).out)

    async def _plan_of(self, profile: Profile, python: str) -> Plan:
        facts = await self.facts(profile)
        return self.plan(facts, profile, Request(profile.name), python=python, directory="/")

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """Plan as many nodes of the partition as the request needs."""
        assert isinstance(facts, SchedulerFacts)
        plan = partitions.plan_slurm(profile, request, facts, python=python, directory=directory)
        return replace(plan, traits=self.traits)

    def scripts(self, submission: Submission) -> dict[str, str]:
        """Return the batch script."""
        return {job_files.BATCH: batch(submission)}

    def command(self, submission: Submission) -> str:
        """Return the command that submits the script by hand."""
        return shlex.join(sbatch(submission))

    async def submit(self, submission: Submission, files: Mapping[str, bytes]) -> Handle:
        """Write the submission's folder, and submit its script, or run it in an existing allocation.

        Raises:
            StartFailed: Slurm refuses the script; its folder is removed.
        """
        return await self._processes(submission).start(files)

    async def status(self, submission: Submission) -> Status:
        """Return the job's state, and why it is pending; or whether the step of an allocation runs."""
        return await self._processes(submission).status()

    async def cancel(self, submission: Submission) -> None:
        """Cancel the job or the step, unless it has ended."""
        await self._processes(submission).cancel()

    async def find(self, submission: Submission) -> Handle | None:
        """Find a job by its comment, and a step by what it has written into its folder."""
        return await self._processes(submission).find()

    async def find_recent(self, submission: Submission) -> Handle | None:
        """Find a job as of the last `squeue`, which all of the user's jobs share."""
        started = self._processes(submission)
        return await (started.find(fresh=False) if isinstance(started, BatchJob) else started.find())

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

    def launcher(self, profile: Profile) -> str | None:
        return profile.slurm.launcher

    def where(self, profile: Profile) -> str:
        return repr((profile.ssh, profile.slurm.partition))

    def as_asked(self, profile: Profile, request: JobRequest) -> Profile:
        slurm = profile.slurm
        partition, time = request.partition or slurm.partition, request.time or slurm.time
        options = (*slurm.options, *request.options)
        return replace(profile, slurm=replace(slurm, partition=partition, time=time, options=options))

    def without_time_limit(self, profile: Profile) -> Profile:
        return replace(profile, slurm=replace(profile.slurm, time=None))

    async def forecast(self, submission: Submission) -> StartForecast:
        """Run `sbatch --test-only`, and query the account's remaining budget."""
        text = self.scripts(submission)[job_files.BATCH]
        test = transport(submission.profile.ssh.login).run(["sbatch", "--test-only"], text.encode())
        done, left = await asyncio.gather(test, account_hours.remaining(submission))
        if done.code:
            refused = Finding("problem", "refused", *reasons.refusal(done.err), field="profile")
            return StartForecast(refused=refused, budget=left)
        return StartForecast(partitions.test_start(done.err), budget=left)

    # ----

    def _processes(self, submission: Submission) -> Processes:
        commands, queue = transport(submission.profile.ssh.login), self._queue(submission.profile)
        if allocation.runs(submission):
            return allocation.Step(submission, commands, queue)
        return BatchJob(submission, commands, queue, partial(self._sooner, submission))

    async def _sooner(self, submission: Submission) -> tuple[Alternative, ...]:
        """Return smaller requests that fit on nodes that were idle when `facts` last queried them."""
        try:
            facts = await self.facts(submission.profile)
            return partitions.sooner(submission.plan, submission.profile, facts)
        except DtrainError as error:  # a suggestion must not hide why the world is waiting
            log.info("%s: no alternatives: %s", submission.id, error)
            return ()

    def _queue(self, profile: Profile) -> Queue:
        login = profile.ssh.login
        if login not in self._queues:
            self._queues[login] = Queue(transport(login), lambda: self.poll_floor_s())
        return self._queues[login]
