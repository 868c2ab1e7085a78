"""The SSH back-end: clusters and jobs on hosts, through one connection per host.

The head of a cluster runs detached on the first host, so that it survives this machine's sleep and the
server's end. The other hosts' agents connect to it. Their settings, keys included, are sent through SSH. A
job is a script on each host, with a folder on each.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence

import msgspec

from dtrain_lab.backends import script
from dtrain_lab.backends.base import Backend, HeadAddress, Place
from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.backends.hosts.ssh_forwards import Forwards
from dtrain_lab.backends.hosts.ssh_transport import SshTransport
from dtrain_lab.backends.network_speed import Pair
from dtrain_lab.backends.processes import Processes
from dtrain_lab.backends.ssh import jobs
from dtrain_lab.backends.ssh.heads import HeadProcess
from dtrain_lab.backends.ssh.jobs import Scripts
from dtrain_lab.errors import BadProfile, EnvironmentUnfit, StartFailed, Unreachable, from_dict
from dtrain_lab.placement import activation, compatibility, network
from dtrain_lab.placement.layout import plan_hosts
from dtrain_lab.placement.slots import slots, ticket_reading
from dtrain_lab.placement.slots.slots import NodeSlots
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.node_check import Between, Check, Interface
from dtrain_lab.wire.plan import Facts, HostsFacts, Plan, Request
from dtrain_lab.wire.processes.endpoints import Endpoints
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.processes.submission import Submission
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.status import Status
from dtrain_lab.wire.traits import Traits

FACTS_FOR_S = 60.0
"""Lifetime of cached host facts: a form asks for a plan at each pause in typing."""


class SshBackend(Backend):
    """Runs clusters and jobs on hosts without a scheduler."""

    name = "ssh"
    traits = Traits()

    def __init__(self) -> None:
        self._forwards = Forwards()
        self._checks: dict[bytes, tuple[float, dict[str, Check]]] = {}

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        """Check all hosts concurrently.

        Raises:
            Unreachable, SignInNeeded: A host can't be asked.
            EnvironmentUnfit: Python or dtrain-lab is missing; the message names the host.
        """
        names = _hosts(profile)
        results = await asyncio.gather(*(self._check(host, profile, python) for host in names))
        return dict(zip(names, results, strict=True))

    async def speed(self, profile: Profile, python: str, checks: dict[str, Check]) -> Between | None:
        """Measure the speed between the first two hosts."""
        pair = Pair.of(checks, profile)
        if pair is None:
            return None
        command = [*activation.python(profile.environment, python), "-P", "-m", *pair.command]
        done = await asyncio.gather(
            *(
                ssh_connections.run(host, *ssh_connections.shell(profile, [*command, role]))
                for host, role in ((pair.first, "listen"), (pair.second, "connect"))
            )
        )
        return pair.measured(done[1].out)

    async def facts(self, profile: Profile) -> HostsFacts:
        """Return the hosts' resources, and how many of their slots are in use now."""
        checks = await self._cached_checks(profile)
        held = await asyncio.gather(*(_held(host, check) for host, check in checks.items()))
        interfaces = {host: check.interfaces for host, check in checks.items()}
        lacking = network.lacking(interfaces, profile.network.interface)
        addresses = _addresses(interfaces, lacking, profile.network.interface)
        nodes = (
            msgspec.structs.replace(
                check.facts,
                name=_name(host),
                address=addresses.get(host, ""),
                held=in_use,
            )
            for (host, check), in_use in zip(checks.items(), held, strict=True)
        )
        return HostsFacts(tuple(nodes), lacking={_name(host): names for host, names in lacking.items()})

    async def _cached_checks(self, profile: Profile) -> dict[str, Check]:
        """Return the cached checks, which don't change fast."""
        of = (
            profile.ssh.hosts,
            profile.environment,
            profile.network.interface,
            profile.workdir,
            profile.framework,
        )
        key, now = msgspec.json.encode(of), asyncio.get_running_loop().time()
        self._checks = {k: cached for k, cached in self._checks.items() if now - cached[0] <= FACTS_FOR_S}
        if key not in self._checks:
            checks = await self.checks(profile, sys.executable)
            wrong = compatibility.unfit(checks, profile.framework)
            if wrong is not None:
                raise wrong
            self._checks[key] = now, checks
        return self._checks[key][1]

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """Plan as many hosts as the request needs: those that `plan_hosts` prefers."""
        assert isinstance(facts, HostsFacts)
        plan = plan_hosts(profile, request, facts, python=python, directory=directory)
        return msgspec.structs.replace(plan, traits=self.traits)

    def scripts(self, submission: Submission) -> dict[str, str]:
        """Return a script per node of a job; a cluster has none (`cluster_folder.prepared`)."""
        assert isinstance(submission, JobRecord)
        nodes = submission.plan.nodes
        address = nodes[0].address or nodes[0].name
        return {
            jobs.script(node): script.on_hosts(submission, node, address=address)
            for node in range(len(nodes))
        }

    def command(self, submission: Submission) -> str:
        """Return the command that runs the scripts by hand, on each host."""
        folder = shlex.quote(submission.directory)
        used = enumerate(used_hosts(submission))
        return "; ".join(f"ssh {host} bash {folder}/{jobs.script(node)}" for node, host in used)

    async def submit(self, submission: Submission, files: Mapping[str, bytes]) -> Handle:
        """Start the head on the first host and the agents on the others; or a job's scripts on all hosts."""
        return await _processes(submission).start(files)

    async def status(self, submission: Submission) -> Status:
        """Return whether the head's process runs, or a job's script on any of the hosts."""
        return await _processes(submission).status()

    async def cancel(self, submission: Submission) -> None:
        """Ask the head to end its world, including other hosts' agents; or end the scripts of all hosts."""
        await _processes(submission).cancel()

    async def find(self, submission: Submission) -> Handle | None:
        """Find a cluster's head, or a job's script, on the first host."""
        return await _processes(submission).find()

    async def reach(self, submission: Submission, endpoints: Endpoints | None, port: str = "") -> HeadAddress:
        """Return a unix socket or a loopback port that SSH forwards to the head's node."""
        assert submission.handle is not None
        host = submission.handle.host
        if port:
            address, _, number = port.rpartition(":")
            return HeadAddress(f"tcp://127.0.0.1:{await self._forwards.port(host, address, int(number))}")
        folder = endpoints.directory if endpoints is not None else submission.handle.directory
        return HeadAddress(f"ipc://{await self._forwards.path(host, f'{folder}/client')}")

    def files(self, submission: Submission) -> list[Place]:
        """Return the folder on each host."""
        return [Place(SshTransport(host), (node,)) for node, host in enumerate(used_hosts(submission))]

    def roots(self, profile: Profile) -> list[Transport]:
        """Return transports to all hosts."""
        return [SshTransport(host) for host in _hosts(profile)]

    async def slots(self, profile: Profile) -> tuple[NodeSlots, ...]:
        """Return the slots of all hosts, asked concurrently."""
        return tuple(await asyncio.gather(*(_slots(profile, host) for host in profile.ssh.hosts)))

    async def stop(self, profile: Profile, identity: str) -> None:
        """End a GPU process on the host that lists it."""
        nodes = await self.slots(profile)
        node = slots.node_of(nodes, identity)
        await _slots(profile, profile.ssh.hosts[nodes.index(node)], identity)

    # ----

    async def _check(self, host: str, profile: Profile, python: str) -> Check:
        command = [*activation.python(profile.environment, python), "-P", "-m", "dtrain_lab.node", "check"]
        command += [profile.workdir] if profile.workdir else []
        done = await ssh_connections.run(host, *ssh_connections.shell(profile, command))
        if done.code == 0:
            return msgspec.json.decode(done.out.strip().splitlines()[-1], type=Check)
        raise _unfit(host, command[0], done.err, done.code)


def _processes(submission: Submission) -> Processes:
    used = used_hosts(submission)
    if isinstance(submission, JobRecord):
        return Scripts(submission, used)
    return HeadProcess(submission, used)


def used_hosts(submission: Submission) -> list[str]:
    """Return the hosts of a submission, by their names in the user's ssh configuration."""
    by_name = {_name(host): host for host in submission.profile.ssh.hosts}
    return [by_name.get(node.name, node.name) for node in submission.plan.nodes]


async def _slots(profile: Profile, host: str, *stop: str) -> NodeSlots:
    """Return the slots of a host, after ending the GPU process `stop` if one is given."""
    python = activation.python(profile.environment, sys.executable)
    command = [*python, "-P", "-m", "dtrain_lab.node", "slots", *stop]
    done = await ssh_connections.run(host, *ssh_connections.shell(profile, command))
    if done.code == slots.REFUSED:
        raise from_dict(msgspec.json.decode(done.out))
    if done.code:
        raise Unreachable(f"{host} did not report who holds its slots: {done.err.strip()[-300:]}", "")
    return msgspec.json.decode(done.out, type=NodeSlots)


def _hosts(profile: Profile) -> tuple[str, ...]:
    if not profile.ssh.hosts:
        raise BadProfile(
            f'The profile "{profile.name}" lists no hosts.',
            'Set [ssh] hosts = ["gpu-01", …].',
            code="no_hosts",
        )
    return profile.ssh.hosts


def _name(host: str) -> str:
    return host.rpartition("@")[2]


def _addresses(
    interfaces: Mapping[str, Sequence[Interface]], lacking: Collection[str], wanted: str | None
) -> dict[str, str]:
    """Return each host's address for the others; empty if they share no network, so that names are used.

    Hosts that lack the wanted interface have none, and don't keep the others from using it.
    """
    able = {host: has for host, has in interfaces.items() if host not in lacking}
    if not able:
        return {}
    try:
        chosen = network.choose(able, wanted)
    except StartFailed:
        return {}
    return {host: interface.address for host, interface in chosen.items()}


def _unfit(host: str, python: str, err: str, code: int) -> EnvironmentUnfit:
    last = next((line for line in reversed(err.splitlines()) if line.strip()), f"it ended with code {code}")
    if "No module named" in last and "dtrain_lab" in last:
        return EnvironmentUnfit(
            f"The environment on {host} has no dtrain_lab.",
            f"Install it there: {python} -m pip install dtrain-lab",
            code="package_missing",
            details={"host": host},
        )
    return EnvironmentUnfit(
        f"{host} can't start {python}: {last}",
        "Set [environment] in the profile to an environment that the host has.",
        details={"host": host},
    )


async def _held(host: str, check: Check) -> int:
    """Return the number of slots held or waited for; a ticket is valid while its process lives."""
    folder = shlex.quote(check.tickets)
    line = f"awk 1 {folder}/*.json 2> /dev/null; cd /proc && echo [0-9]*"
    done = await ssh_connections.run(host, f"bash -c {shlex.quote(line)}")
    text, _, pids = done.out.rstrip().rpartition(b"\n")
    return ticket_reading.in_use(text, {int(pid) for pid in pids.split() if pid.isdigit()})
