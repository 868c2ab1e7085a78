"""Starts worlds as Slurm jobs, and finds ways to their heads."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

import msgspec

from dtrain_lab.backends import hosts
from dtrain_lab.backends.base import Handle, Status, Submission, Way
from dtrain_lab.backends.bridge import Bridge
from dtrain_lab.backends.forwards import Forwards
from dtrain_lab.backends.hosts import Done
from dtrain_lab.backends.slurm.queue import Queue
from dtrain_lab.backends.speed import Pair
from dtrain_lab.backends.transport import Transport, transport
from dtrain_lab.core import command, slurm
from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.core.fitness import Check
from dtrain_lab.core.network import Between
from dtrain_lab.core.plan import Facts, NodeFacts, Partition, Plan, Request, SlurmFacts
from dtrain_lab.core.profile import Profile
from dtrain_lab.errors import BadProfile, NotFound, StartFailed, Unreachable
from dtrain_lab.machine import first_reachable

PIECE = 64 << 10
ENDED = (
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "PREEMPTED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "BOOT_FAIL",
)
FACTS_FOR_S = 300.0


class SlurmBackend:
    """A world is a job: its head on the first node, an agent on each under one srun."""

    name = "slurm"

    def __init__(self) -> None:
        self._queues: dict[str | None, Queue] = {}
        self._facts: dict[str | None, tuple[float, SlurmFacts]] = {}
        self._forwards = Forwards()
        self._bridges: dict[tuple[str, str], Bridge] = {}

    async def facts(self, profile: Profile) -> SlurmFacts:
        """Partitions with their nodes; asked at most every five minutes."""
        if profile.slurm.allocation not in (None, "new"):
            return await self._allocation(profile)
        login = profile.ssh.login
        now = asyncio.get_running_loop().time()
        known = self._facts.get(login)
        if known is None or now - known[0] > FACTS_FOR_S:
            done = await transport(login).run(["sinfo", "-h", "-N", "-o", slurm.SINFO])
            if done.code:
                raise Unreachable(f"Slurm does not answer: {slurm.said(done.err)}.", "Is the scheduler up?")
            known = now, SlurmFacts(slurm.partitions(done.out.decode("utf-8", "replace").splitlines()))
            self._facts[login] = known
        return known[1]

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        """What nodes of the partition have: a short step on as many as the profile names."""
        nodes = len((await self._plan_of(profile, python)).nodes)
        words = [*command.python(profile.environment, python), "-P", "-m", "dtrain_lab.node", "check"]
        words += [profile.workdir] if profile.workdir else []
        asked = [f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"]
        done = await self._step(profile, python, asked, words)
        if done.code:
            last = [line for line in done.err.strip().splitlines() if line.strip()]
            raise StartFailed(*slurm.refusal(last[-1] if last else "no node is free now"), code="refused")
        found = [
            msgspec.json.decode(line, type=Check) for line in done.out.splitlines() if line.startswith(b"{")
        ]
        return {one.facts.name: one for one in sorted(found, key=lambda c: c.facts.name)}

    async def speed(self, profile: Profile, python: str, checks: dict[str, Check]) -> Between | None:
        """Between two of the nodes that were asked: a short step on just these."""
        pair = Pair.of(checks, profile)
        if pair is None:
            return None
        words = [*command.python(profile.environment, python), "-P", "-m", *pair.words]
        # tasks are numbered in the order of the names: the first listens
        asked = ["--nodes=2", "--ntasks=2", "--ntasks-per-node=1", f"--nodelist={pair.first},{pair.second}"]
        return pair.measured((await self._step(profile, python, asked, words)).out)

    async def _plan_of(self, profile: Profile, python: str) -> Plan:
        facts = await self.facts(profile)
        return self.plan(facts, profile, Request(profile.name), python=python, directory="/")

    async def _step(self, profile: Profile, python: str, asked: list[str], words: list[str]) -> Done:
        """Run a command on nodes, for some seconds."""
        plan = await self._plan_of(profile, python)
        run = ["srun", *asked, "--time=2", "--quiet"]
        if profile.slurm.allocation not in (None, "new"):
            run += [f"--jobid={await self._job_of(profile)}", "--overlap"]
        else:
            given = slurm.directives(plan, profile, identity="check", name="check", log="/dev/null")
            wanted = ("--partition", "--account", "--qos", "--constraint", "--gres")
            run += ["--immediate=20", *(option for option in given if option.startswith(wanted))]
        script = command.script(profile.environment, plan.variables, words)
        shell = "-lc" if command.login_needed(profile.environment) else "-c"
        return await transport(profile.ssh.login).run([*run, "bash", shell, script])

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """As many nodes of the partition as the request needs."""
        assert isinstance(facts, SlurmFacts)
        return slurm.plan_slurm(profile, request, facts, python=python, directory=directory)

    async def submit(self, submission: Submission) -> Handle:
        """Write the world's folder, and hand its script to the scheduler."""
        profile = submission.profile
        way = transport(profile.ssh.login)
        base = profile.workdir or f"{await way.home()}/.dtrain-lab"
        folder = f"{base.rstrip('/')}/worlds/{submission.id}"
        settings = dict(submission.settings)
        settings["remote"] = {
            **settings["remote"],
            "endpoints": f"{folder}/endpoints.json",
            "own_agent": False,
        }
        settings["record"] = f"{folder}/record.json"
        script = slurm.script(
            submission.plan, profile, identity=submission.id, name=submission.name, folder=folder
        )
        files = {"head.json": msgspec.json.encode(settings), "world.sh": script.encode()}
        await way.write(folder, files)
        if profile.slurm.allocation not in (None, "new"):
            return await self._inside(submission, way, folder)
        done = await way.run(["sbatch", "--parsable", f"{folder}/world.sh"])
        if done.code:
            await way.run(["rm", "-r", "--", folder])
            raise StartFailed(*slurm.refusal(done.err), code="refused")
        job = done.out.decode().strip().split(";")[0]
        return Handle(submission.id, profile.ssh.login or socket.gethostname(), directory=folder, job=job)

    async def endpoints(self, profile: Profile, handle: Handle) -> Endpoints | None:
        """What the head has written; None before."""
        text = await transport(profile.ssh.login).read(f"{handle.directory}/endpoints.json")
        return msgspec.json.decode(text, type=Endpoints) if text else None

    async def status(self, profile: Profile, handle: Handle) -> Status:
        """The job's state, and why it waits."""
        queue = self._queue(profile)
        job = await queue.job(handle.job, fresh=False)
        if job is None:
            job = await queue.job(handle.job, fresh=True)
        if job is None:
            return Status("ended")
        reason = slurm.reason(job.reason, job.state)
        if job.state in ("PENDING", "CONFIGURING", "REQUEUED", "RESIZING", "SUSPENDED"):
            if reason is not None and not reason.final:
                reason = msgspec.structs.replace(
                    reason, expected_start_at=job.expected_at, ahead=queue.ahead(handle.job)
                )
            return Status("pending", reason)
        if job.state.split()[0] in ENDED:
            return Status("ended", reason)
        return Status("running")

    async def cancel(self, profile: Profile, handle: Handle) -> None:
        """Cancel the job, or the steps of it that are ours."""
        if profile.slurm.allocation not in (None, "new"):
            words = ["bash", "-c", 'kill -TERM -- "-$1" 2>/dev/null', "bash", str(handle.pid)]
        else:
            words = ["scancel", handle.job]
        await transport(profile.ssh.login).run(words)

    async def log(self, profile: Profile, handle: Handle, file: str, offset: int) -> bytes:
        """A piece of the job's own log ("slurm"); those of head and agents lie on the nodes."""
        if "/" in file:
            return b""
        way = transport(profile.ssh.login)
        return await way.read(f"{handle.directory}/{file}.log", offset, PIECE) or b""

    async def find(self, profile: Profile, identity: str, directory: str) -> Handle | None:
        """A job by the comment that it was submitted with: also after a crash before it was recorded."""
        job = await self._queue(profile).by_comment(f"dtl:{identity}")
        if job is None or job.state.split()[0] in ENDED:
            return None
        return Handle(identity, profile.ssh.login or socket.gethostname(), directory=directory, job=job.id)

    async def reach(self, profile: Profile, handle: Handle, endpoints: Endpoints | None) -> Way:
        """Straight over TCP; else through the login node; else through a step of the job."""
        if endpoints is None:
            raise Unreachable(f"The job {handle.job} has no head yet.", "Wait until it runs.")
        login = profile.ssh.login
        if login is None:
            url = await first_reachable(endpoints.door)
            if url is not None:
                return Way(url, endpoints.keys)
            bridge = await self._bridge(profile, handle, endpoints, f"unix:{endpoints.directory}/door")
            return Way(f"ipc://{bridge.path}")
        link = await hosts.connection(login)
        for url in endpoints.door:
            address, _, port = url.removeprefix("tcp://").rpartition(":")
            if await _answers(link, address.strip("[]"), int(port)):
                mine = await self._forwards.port(login, address.strip("[]"), int(port))
                return Way(f"tcp://127.0.0.1:{mine}", endpoints.keys)
        raise Unreachable(
            f"{login} can't reach {endpoints.host} at {', '.join(endpoints.door)}.",
            "Open these ports from the login node, or set [network] ports in the profile.",
        )

    async def forward(
        self, profile: Profile, handle: Handle, endpoints: Endpoints, address: str, port: int
    ) -> tuple[str, int]:
        """As the door is reached."""
        if profile.ssh.login is not None:
            return "127.0.0.1", await self._forwards.port(profile.ssh.login, address, port)
        if await first_reachable([f"tcp://{address}:{port}"]):
            return address, port
        bridge = await self._bridge(profile, handle, endpoints, f"tcp:{address}:{port}")
        return "127.0.0.1", await bridge.listen_tcp()

    # ----

    def _queue(self, profile: Profile) -> Queue:
        login = profile.ssh.login
        if login not in self._queues:
            self._queues[login] = Queue(transport(login))
        return self._queues[login]

    async def _bridge(self, profile: Profile, handle: Handle, endpoints: Endpoints, target: str) -> Bridge:
        key = handle.id, target
        if key not in self._bridges:
            python = command.python(profile.environment, endpoints.python)
            words = ["srun", f"--jobid={handle.job}", "--overlap", "--nodes=1", "--ntasks=1", "--quiet"]
            words += [f"--nodelist={endpoints.host.split('.')[0]}", "--unbuffered", "--mem=0"]
            words += [*python, "-P", "-m", "dtrain_lab.node", "bridge", target]
            self._bridges[key] = bridge = Bridge(words)
            await bridge.listen()
        return self._bridges[key]

    async def _allocation(self, profile: Profile) -> SlurmFacts:
        """The allocation that this process is in, or a job that is named, as the only partition."""
        job = await self._job_of(profile)
        done = await transport(profile.ssh.login).run(["squeue", "-h", "-j", job, "-o", "%N|%P"])
        nodes, _, partition = done.out.decode().strip().partition("|")
        if done.code or not nodes:
            raise NotFound(f"There is no running job {job}.", "Set [slurm] allocation to a job of yours.")
        words = ["sinfo", "-h", "-N", "-n", nodes, "-p", partition, "-o", slurm.SINFO]
        done = await transport(profile.ssh.login).run(words)
        lines = [line.replace("*", "", 1) for line in done.out.decode().splitlines()]
        found = slurm.partitions(line.replace("|drain", "|alloc") for line in lines)
        cpus = int(os.environ.get("SLURM_CPUS_ON_NODE", 0))
        return SlurmFacts(tuple(_limited(p, profile.slurm.partition, cpus) for p in found))

    async def _job_of(self, profile: Profile) -> str:
        if profile.slurm.allocation != "current":
            return str(profile.slurm.allocation)
        job = os.environ.get("SLURM_JOB_ID")
        if not job:
            raise BadProfile(
                '[slurm] allocation = "current", and this process is in none.',
                'Start Jupyter inside a job (salloc, srun), or set allocation = "new".',
                code="no_allocation",
            )
        return job

    async def _inside(self, submission: Submission, way: Transport, folder: str) -> Handle:
        """Run the script as a step of the allocation, detached from us."""
        profile = submission.profile
        job = await self._job_of(profile)
        step = f"srun --jobid={job} --overlap --exact --relative=0 --nodes=1 --ntasks=1"
        step += " --mem=0 --quiet --input=none"
        line = f'setsid {step} bash "$1/world.sh" >"$1/slurm.log" 2>&1 </dev/null & echo $!'
        done = await way.run(["bash", "-c", line, "bash", folder])
        if done.code:
            raise StartFailed(*slurm.refusal(done.err), code="refused")
        pid = int(done.out.decode().strip())
        return Handle(submission.id, socket.gethostname(), pid, directory=folder, job=job)


def _limited(partition: Partition, wanted: str | None, cpus: int) -> Partition:
    nodes = tuple(
        NodeFacts(n.name, n.address, min(n.cpus, cpus) if cpus else n.cpus, n.gpus, n.memory_bytes)
        for n in partition.nodes
    )
    return Partition(wanted or partition.name, nodes, None, wanted is None)


async def _answers(link: Any, address: str, port: int) -> bool:
    """Can the login node connect there?"""
    import asyncssh

    try:
        async with asyncio.timeout(3.0):
            _, writer = await link.open_connection(address, port)
            writer.close()
    except (TimeoutError, OSError, asyncssh.Error):
        return False
    return True
