"""The back-end `ssh`: hosts that a person may log in to, no scheduler between.

The head runs on the first host, detached: neither this machine's sleep nor the server's end hurts it. The
other hosts' agents join it. What they need to know, keys included, travels through SSH.
"""

from __future__ import annotations

import asyncio

import msgspec

from dtrain_lab.backends import hosts
from dtrain_lab.backends.base import Handle, Status, Submission, Way
from dtrain_lab.backends.forwards import Forwards
from dtrain_lab.backends.speed import Pair
from dtrain_lab.core import command, fitness, network, slots
from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.core.fitness import Check
from dtrain_lab.core.network import Between
from dtrain_lab.core.plan import Facts, HostsFacts, Plan, Request
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.spread import plan_hosts
from dtrain_lab.errors import BadProfile, EnvironmentUnfit, StartFailed

PIECE = 64 << 10
START_WITHIN_S = 60.0
FACTS_FOR_S = 60.0
"""A form that is edited asks for a plan at each pause; hosts do not change so fast."""


class SshBackend:
    """Heads and agents on hosts, through one connection each."""

    name = "ssh"

    def __init__(self) -> None:
        self._forwards = Forwards()
        self._checks: dict[bytes, tuple[float, dict[str, Check]]] = {}

    async def checks(self, profile: Profile, python: str) -> dict[str, Check]:
        """What each host has, all asked at once.

        Raises:
            Unreachable, SignInNeeded: a host can't be asked.
            EnvironmentUnfit: Python or dtrain-lab is not there; the message names the host.
        """
        names = _hosts(profile)
        found = await asyncio.gather(*(self._check(host, profile, python) for host in names))
        return dict(zip(names, found, strict=True))

    async def speed(self, profile: Profile, python: str, checks: dict[str, Check]) -> Between | None:
        """Between the first two hosts."""
        pair = Pair.of(checks, profile)
        if pair is None:
            return None
        words = [*command.python(profile.environment, python), "-P", "-m", *pair.words]
        done = await asyncio.gather(
            *(
                hosts.run(host, hosts.shell(profile, [*words, role]))
                for host, role in ((pair.first, "listen"), (pair.second, "connect"))
            )
        )
        return pair.measured(done[1].out)

    async def facts(self, profile: Profile) -> HostsFacts:
        """What the hosts have, and how many of their slots are in use just now."""
        checks = await self._known(profile)
        held = await asyncio.gather(*(_held(host, check) for host, check in checks.items()))
        addresses = _addresses(checks, profile.network.interface)
        nodes = (
            msgspec.structs.replace(
                check.facts,
                name=host.rpartition("@")[2],
                address=addresses.get(host, ""),
                held=in_use,
            )
            for (host, check), in_use in zip(checks.items(), held, strict=True)
        )
        return HostsFacts(tuple(nodes))

    async def _known(self, profile: Profile) -> dict[str, Check]:
        """What does not change fast."""
        import sys

        of = profile.ssh.hosts, profile.environment, profile.network.interface, profile.workdir
        key, now = msgspec.json.encode(of), asyncio.get_running_loop().time()
        self._checks = {k: known for k, known in self._checks.items() if now - known[0] <= FACTS_FOR_S}
        if key not in self._checks:
            checks = await self.checks(profile, sys.executable)
            wrong = fitness.unfit(checks)
            if wrong is not None:
                raise wrong
            self._checks[key] = now, checks
        return self._checks[key][1]

    def plan(self, facts: Facts, profile: Profile, request: Request, *, python: str, directory: str) -> Plan:
        """As many hosts as the request needs: those with free slots first, in the profile's order."""
        assert isinstance(facts, HostsFacts)
        return plan_hosts(profile, request, facts, python=python, directory=directory)

    async def submit(self, submission: Submission) -> Handle:
        """Start the head on the first host, then the agents on the others."""
        by_name = {host.rpartition("@")[2]: host for host in _hosts(submission.profile)}
        used = [by_name[node.name] for node in submission.plan.nodes]
        endpoints = await self._start_head(used[0], submission)
        stdin = msgspec.json.encode(endpoints)
        joining = [
            self._start(host, submission, ["-m", "dtrain_lab.node", "join", "-", str(node)], stdin)
            for node, host in enumerate(used[1:], start=1)
        ]
        handle = Handle(
            submission.id, used[0], endpoints.pid, endpoints.started, endpoints.directory, endpoints=endpoints
        )
        try:
            await asyncio.gather(*joining)
        except BaseException:
            await self.cancel(submission.profile, handle)
            raise
        return handle

    async def endpoints(self, profile: Profile, handle: Handle) -> Endpoints | None:
        """Known since the start."""
        return handle.endpoints

    async def status(self, profile: Profile, handle: Handle) -> Status:
        """Does the head's process run?"""
        # a head that was killed leaves its folder, which nobody else would remove
        folder = _quoted(handle.directory)
        runs = f"grep -qsa dtrain_lab.head /proc/{handle.pid}/cmdline"
        done = await hosts.run(
            handle.host, f"{runs} && test -S {folder}/door || {{ rm -rf -- {folder}; exit 3; }}"
        )
        return Status("running" if done.code == 0 else "ended")

    async def cancel(self, profile: Profile, handle: Handle) -> None:
        """Ask the head to end its world; agents on other hosts end with it."""
        await hosts.run(handle.host, f"test -S {_quoted(handle.directory)}/door && kill -TERM {handle.pid}")

    async def log(self, profile: Profile, handle: Handle, file: str, offset: int) -> bytes:
        """A piece of a log on the head's host."""
        if "/" in file:
            return b""
        path = f"{handle.directory}/{file}.log"
        done = await hosts.run(handle.host, f"tail -c +{offset + 1} -- {_quoted(path)} | head -c {PIECE}")
        return done.out

    async def find(self, profile: Profile, identity: str, directory: str) -> Handle | None:
        """A head that one of this profile's hosts runs."""
        line, names = f"cat -- {_quoted(directory)}/record.json", _hosts(profile)
        for host, done in zip(names, await asyncio.gather(*(hosts.run(h, line) for h in names)), strict=True):
            if done.code == 0:
                record = msgspec.json.decode(done.out)
                return Handle(identity, host, record["pid"], record["started"], directory)
        return None

    async def reach(self, profile: Profile, handle: Handle, endpoints: Endpoints | None) -> Way:
        """A unix socket here that SSH leads to the head's."""
        return Way(f"ipc://{await self._forwards.path(handle.host, f'{handle.directory}/door')}")

    async def forward(
        self, profile: Profile, handle: Handle, endpoints: Endpoints, address: str, port: int
    ) -> tuple[str, int]:
        """A port of this machine's loopback that SSH leads to one of the head's node."""
        return "127.0.0.1", await self._forwards.port(handle.host, address, port)

    # ----

    async def _check(self, host: str, profile: Profile, python: str) -> Check:
        words = [*command.python(profile.environment, python), "-P", "-m", "dtrain_lab.node", "check"]
        words += [profile.workdir] if profile.workdir else []
        done = await hosts.run(host, hosts.shell(profile, words))
        if done.code == 0:
            return msgspec.json.decode(done.out.strip().splitlines()[-1], type=Check)
        raise _unfit(host, words[0], done.err, done.code)

    async def _start_head(self, host: str, submission: Submission) -> Endpoints:
        settings = dict(submission.settings)
        settings["remote"] = {**settings["remote"], "endpoints": "-", "own_agent": True}
        out = await self._start(host, submission, ["-m", "dtrain_lab.head"], msgspec.json.encode(settings))
        return msgspec.json.decode(out.splitlines()[-1], type=Endpoints)

    async def _start(self, host: str, submission: Submission, arguments: list[str], stdin: bytes) -> bytes:
        """Start something that goes on after the connection is gone; returns the first line it says."""
        profile, plan = submission.profile, submission.plan
        words = [*command.python(profile.environment, plan.python), "-P", *arguments]
        link = await hosts.connection(host)
        process = await link.create_process(f"setsid -w {hosts.shell(profile, words)}", encoding=None)
        process.stdin.write(stdin)
        process.stdin.write_eof()
        try:
            async with asyncio.timeout(START_WITHIN_S):
                line = await process.stdout.readline()
                if line:
                    return bytes(line)
                error = (await process.stderr.read()).decode("utf-8", "replace")
        except TimeoutError:
            raise StartFailed(
                f"{host} did not start in {START_WITHIN_S:.0f} s.", "Is it overloaded?"
            ) from None
        finally:
            process.close()
        last = [text for text in error.strip().splitlines() if text.strip()]
        raise StartFailed(
            f"{host}: {last[-1] if last else 'it ended at once, and said nothing'}", code="no_start"
        )


def _hosts(profile: Profile) -> tuple[str, ...]:
    if not profile.ssh.hosts:
        raise BadProfile(
            f'The profile "{profile.name}" names no hosts.',
            'Set [ssh] hosts = ["gpu-01", …].',
            code="no_hosts",
        )
    return profile.ssh.hosts


def _addresses(checks: dict[str, Check], interface: str | None) -> dict[str, str]:
    """Address of each host as the others reach it; none where they share no network: they have names."""
    try:
        chosen = network.choose({host: check.interfaces for host, check in checks.items()}, interface)
    except StartFailed:
        return {}
    return {host: found.address for host, found in chosen.items()}


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


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
        "Set [environment] in the profile to one that the host has.",
        details={"host": host},
    )


async def _held(host: str, check: Check) -> int:
    """Slots that are held or waited for; tickets are good while their process lives."""
    folder = _quoted(check.tickets)
    line = f"awk 1 {folder}/*.json 2> /dev/null; cd /proc && echo [0-9]*"
    done = await hosts.run(host, f"bash -c {_quoted(line)}")
    text, _, pids = done.out.rstrip().rpartition(b"\n")
    return slots.in_use(text, {int(pid) for pid in pids.split() if pid.isdigit()})
