"""Jobs on hosts without a scheduler: a script on each, with a folder on each."""

from __future__ import annotations

import asyncio
import shlex
import sys

import msgspec

from dtrain_lab.backends import hosts
from dtrain_lab.backends.hosts import Done
from dtrain_lab.backends.jobs.base import ASK_WITHIN_S, Forecast, Place
from dtrain_lab.backends.transport import Login
from dtrain_lab.core import command, job_script, jobfiles, slots
from dtrain_lab.core.job import JobRecord
from dtrain_lab.core.profile import Profile
from dtrain_lab.core.record import Handle
from dtrain_lab.core.slots import NodeSlots
from dtrain_lab.core.status import Status
from dtrain_lab.core.wire.gang import GangKeys
from dtrain_lab.errors import StartFailed, Unreachable, from_dict
from dtrain_lab.machine.curve import new_keys


class SshJobs:
    """Scripts on hosts."""

    name = "ssh"

    async def base(self, record_workdir: str | None, record: JobRecord | None = None) -> str:
        """The profile's workdir, or a folder in the user's home there."""
        return f"{record_workdir or '.dtrain-lab'}/jobs"

    def scripts(self, record: JobRecord) -> dict[str, str]:
        """A script a node."""
        address = record.plan.nodes[0].address or record.plan.nodes[0].name
        nodes = range(len(record.plan.nodes))
        names = {node: jobfiles.BATCH if node == 0 else f"node.{node}.sh" for node in nodes}
        return {names[node]: job_script.on_hosts(record, node, address=address) for node in nodes}

    def command(self, record: JobRecord) -> str:
        """By hand, on each host."""
        return "; ".join(
            f"ssh {host} bash {record.directory}/{name}"
            for host, name in zip(used(record), self.scripts(record), strict=True)
        )

    async def forecast(self, record: JobRecord) -> Forecast:
        """Nobody schedules here."""
        return Forecast()

    async def submit(self, record: JobRecord, files: dict[str, bytes]) -> Handle:
        """Write a folder on each host, and start its script; all or none."""
        chosen = used(record)
        files = {**files, jobfiles.GANG: msgspec.json.encode(GangKeys(*new_keys()))}
        await Login(chosen[0]).write(record.directory, files)
        await asyncio.gather(*(_write_too(host, record, files) for host in chosen[1:]))
        names = list(self.scripts(record))
        pids = await asyncio.gather(
            *(_start(host, record, name) for host, name in zip(chosen, names, strict=True)),
            return_exceptions=True,
        )
        failed = next((p for p in pids if isinstance(p, BaseException)), None)
        handle = Handle(
            record.id, chosen[0], pids[0] if isinstance(pids[0], int) else 0, directory=record.directory
        )
        if failed is not None:
            await self.cancel(msgspec.structs.replace(record, handle=handle))
            raise failed
        return handle

    async def status(self, record: JobRecord) -> Status:
        """Does the first host's script run, or, after that, one of the others'?"""
        assert record.handle is not None
        done = await hosts.run(record.handle.host, _runs(record, jobfiles.BATCH), within_s=ASK_WITHIN_S)
        if done.code == 0:
            return Status("running")
        others = list(zip(used(record), self.scripts(record), strict=True))[1:]
        rest = await asyncio.gather(
            *(hosts.run(host, _runs(record, name), within_s=ASK_WITHIN_S) for host, name in others),
            return_exceptions=True,
        )
        # of one that can't be asked nothing is known: it keeps no job alive
        return Status("running" if any(isinstance(d, Done) and d.code == 0 for d in rest) else "ended")

    async def find(self, record: JobRecord) -> Handle | None:
        """A script of the first host that runs, or has run."""
        host = used(record)[0]
        done = await hosts.run(host, f"cat -- {shlex.quote(record.directory)}/{jobfiles.BATCH}.pid")
        if done.code or not done.out.strip().isdigit():
            return None
        return Handle(record.id, host, int(done.out), directory=record.directory)

    async def cancel(self, record: JobRecord) -> None:
        """End the scripts of all hosts; each takes its processes along."""
        names = list(self.scripts(record))
        await asyncio.gather(
            *(hosts.run(host, _kill(record, name)) for host, name in zip(used(record), names, strict=True)),
            return_exceptions=True,
        )

    async def slots(self, profile: Profile) -> tuple[NodeSlots, ...]:
        """Of each host, all asked at once."""
        return tuple(await asyncio.gather(*(_slots(profile, host) for host in profile.ssh.hosts)))

    async def stop(self, profile: Profile, identity: str) -> None:
        """On the host that shows it."""
        nodes = await self.slots(profile)
        node = slots.node_of(nodes, identity)
        await _slots(profile, profile.ssh.hosts[nodes.index(node)], identity)

    def places(self, record: JobRecord) -> list[Place]:
        """A folder on each host."""
        return [Place(Login(host), (node,)) for node, host in enumerate(used(record))]


async def _slots(profile: Profile, host: str, *stop: str) -> NodeSlots:
    """Of a host, after a process on one of its GPUs was ended, if one shall be."""
    python = command.python(profile.environment, sys.executable)
    line = hosts.shell(profile, [*python, "-P", "-m", "dtrain_lab.node", "slots", *stop])
    done = await hosts.run(host, line)
    if done.code == slots.REFUSED:
        raise from_dict(msgspec.json.decode(done.out))
    if done.code:
        raise Unreachable(f"{host} did not say who holds its slots: {done.err.strip()[-300:]}", "")
    return msgspec.json.decode(done.out, type=NodeSlots)


def used(record: JobRecord) -> list[str]:
    """The hosts of a job, as the user's ssh knows them."""
    by_name = {host.rpartition("@")[2]: host for host in record.profile.ssh.hosts}
    return [by_name.get(node.name, node.name) for node in record.plan.nodes]


async def _write_too(host: str, record: JobRecord, files: dict[str, bytes]) -> None:
    """Write the folder, unless this host shares it with the first."""
    way = Login(host)
    if not await way.small(record.directory, (jobfiles.JOB,)):
        await way.write(record.directory, files)


async def _start(host: str, record: JobRecord, name: str) -> int:
    place = shlex.quote(record.directory)
    line = (
        f'cd {place} && {{ setsid bash "$PWD/{name}" '
        f"> {jobfiles.LAUNCHER_LOG}.log 2>&1 < /dev/null & "
        f"echo $! | tee {name}.pid; }}"
    )
    done = await hosts.run(host, f"bash -c {shlex.quote(line)}")
    if done.code or not done.out.strip().isdigit():
        raise StartFailed(f"{host}: {done.err.strip() or 'the job did not start'}", "", code="no_start")
    return int(done.out)


def _runs(record: JobRecord, name: str) -> str:
    place = shlex.quote(record.directory)
    return f"cd {place} && grep -qsaF {record.id}/{name} /proc/$(cat {name}.pid)/cmdline"


def _kill(record: JobRecord, name: str) -> str:
    runs = _runs(record, name)
    line = (
        f"{runs} || exit 0; kill -TERM -- -$(cat {name}.pid); "
        f"for i in $(seq 40); do sleep 0.25; {runs} || exit 0; done; kill -KILL -- -$(cat {name}.pid)"
    )
    return f"bash -c {shlex.quote(line)}"
