"""Job scripts on hosts: started, queried and ended with shell commands through SSH."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from dtrain_lab.backends.base import ASK_WITHIN_S
from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.hosts.ssh_transport import SshTransport
from dtrain_lab.backends.ssh.processes import HostProcess, last_word, unsaid
from dtrain_lab.errors import DtrainError, StartFailed
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine.net.curve import new_keys
from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.jobs.gang import GangKeys
from dtrain_lab.wire.jobs.job import JobRecord
from dtrain_lab.wire.processes.head_record import Handle
from dtrain_lab.wire.status import Status


def script(node: int) -> str:
    """Return the file name of a node's script."""
    return f"node.{node}.sh" if node else job_files.BATCH


class Scripts:
    """The scripts of a job, one on each host. Implements `backends.processes.Processes`.

    Args:
        record: Record of the job.
        used: Its hosts.
    """

    def __init__(self, record: JobRecord, used: Sequence[str]) -> None:
        self._record = record
        self._used = used

    async def start(self, files: Mapping[str, bytes]) -> Handle:
        """Write the folder on each host, and start the scripts on all hosts or none.

        Raises:
            DtrainError: A host can't be reached, or refuses.
        """
        record, used = self._record, self._used
        written = {**files, job_files.GANG: msgspec.json.encode(GangKeys(*new_keys()))}
        await SshTransport(used[0]).write(record.directory, written)
        await asyncio.gather(*(_write_too(host, record, written) for host in used[1:]))
        pids = await asyncio.gather(
            *(_start(host, record, script(node)) for node, host in enumerate(used)), return_exceptions=True
        )
        failed = next((p for p in pids if isinstance(p, BaseException)), None)
        pid = pids[0] if isinstance(pids[0], int) else 0
        if failed is not None:
            with suppress(DtrainError):  # report the original error, not one of the cleanup
                await self.cancel()
            raise failed
        return Handle(record.id, used[0], pid, directory=record.directory)

    async def status(self) -> Status:
        """Return whether a script runs: the first host's, or after its end one of the others'.

        Raises:
            Exception: Asking a host failed although it was reached.
        """
        if await self._process(0).runs(ASK_WITHIN_S):
            return Status("running")
        rest = await asyncio.gather(
            *(self._process(node).runs(ASK_WITHIN_S) for node in range(1, len(self._used))),
            return_exceptions=True,
        )
        if any(runs is True for runs in rest):
            return Status("running")
        for error in rest:
            if isinstance(error, DtrainError):  # its ranks may still run
                return Status("unknown", Reason("not_asked", error.message, error.hint))
            if isinstance(error, BaseException):
                raise error
        return Status("ended")

    async def find(self) -> Handle | None:
        """Find the script on the first host, which runs or has run; None if it never started.

        Raises:
            Unreachable: The host does not answer.
        """
        host, place = self._used[0], shlex.quote(self._record.directory)
        line = (
            f'folder={place}; if cd -- "$folder" 2> /dev/null; then cat {job_files.BATCH}.pid 2> /dev/null '
            '|| echo none; elif [ -d "${folder%/*}" ] || { [ -d ~ ] && [[ $folder = ~/* ]]; }; then '
            "echo none; fi"
        )
        done = await ssh_connections.run(host, f"bash -c {shlex.quote(line)}", within_s=ASK_WITHIN_S)
        word = last_word(done)
        if word == "none":
            return None
        if not word.isdigit():
            raise unsaid(host, done)
        return Handle(self._record.id, host, int(word), directory=self._record.directory)

    async def cancel(self) -> None:
        """End the scripts of all hosts; each ends its own processes.

        Raises:
            DtrainError: A host can't be reached; the scripts of the others were ended.
        """
        errors = await asyncio.gather(
            *(self._process(node).end() for node in range(len(self._used))), return_exceptions=True
        )
        for error in errors:
            if error is not None:
                raise error

    def _process(self, node: int) -> HostProcess:
        record, name = self._record, script(node)
        find = f"cd -- {shlex.quote(record.directory)} && pid=$(cat {name}.pid)"
        return HostProcess(self._used[node], find, f"{record.id}/{name}")


async def _write_too(host: str, record: JobRecord, files: dict[str, bytes]) -> None:
    """Write the folder, unless this host shares it with the first host."""
    transport = SshTransport(host)
    if not await transport.read_matching(record.directory, (job_files.JOB,)):
        await transport.write(record.directory, files)


async def _start(host: str, record: JobRecord, name: str) -> int:
    place = shlex.quote(record.directory)
    line = (
        f'cd {place} && {{ setsid bash "$PWD/{name}" '
        f"> {job_files.LAUNCHER_LOG}.log 2>&1 < /dev/null & "
        f"echo $! | tee {name}.pid; }}"
    )
    done = await ssh_connections.run(host, f"bash -c {shlex.quote(line)}")
    if done.code or not done.out.strip().isdigit():
        raise StartFailed(
            f"{host}: {done.err.strip() or 'the job did not start'}",
            f"Look at it with: ssh {host}",
            code="no_start",
        )
    return int(done.out)
