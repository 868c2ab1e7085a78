"""Processes on hosts, asked for and ended with shell commands through SSH."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.backends.hosts.base import Done
from dtrain_lab.errors import Unreachable


class HostProcess(NamedTuple):
    """A process that survives the connection which started it.

    `find`: shell commands that set $pid, or fail. `mark`: part of its command line, as a pid is used again.
    """

    host: str
    find: str
    mark: str

    async def runs(self, within_s: float = 60.0) -> bool:
        """Return whether the process runs, as printed by the command: a failed command proves nothing.

        Raises:
            Unreachable: The host does not answer.
        """
        done = await self._sh(f"if {self._alive}; then echo runs; else echo gone; fi", within_s)
        word = last_word(done)
        if word not in ("runs", "gone"):
            raise unsaid(self.host, done)
        return word == "runs"

    async def ask_to_end(self) -> None:
        """Send it SIGTERM, if it runs."""
        await self._sh(f"{self._alive} && kill -TERM $pid")

    async def end(self) -> None:
        """End it with its process group: with SIGTERM, after ten seconds with SIGKILL.

        Raises:
            Unreachable: The host does not answer.
        """
        done = await self._sh(
            f"{self._alive} || exit 0; kill -TERM -- -$pid; "
            f"for i in $(seq 40); do sleep 0.25; {self._alive} || exit 0; done; kill -KILL -- -$pid"
        )
        if done.code:
            raise unsaid(self.host, done)

    async def _sh(self, line: str, within_s: float = 60.0) -> Done:
        # without a readable /proc, it is unknown whether it runs
        line = f"{self.find} && [ -d /proc/self ] || exit 3; {line}"
        return await ssh_connections.run(self.host, f"bash -c {shlex.quote(line)}", within_s=within_s)

    @property
    def _alive(self) -> str:
        return f"grep -qsaF {self.mark} /proc/$pid/cmdline"


def last_word(done: Done) -> str:
    """Return the last word of output: a shell's start-up files may have printed lines before it."""
    return next(reversed(done.out.decode(errors="replace").split()), "")


def unsaid(host: str, done: Done) -> Unreachable:
    """Return the error for a host whose answer does not tell whether a process runs.

    Args:
        host: The host.
        done: Result of the command that asked.
    """
    return Unreachable(
        f"{host} does not report whether the process is running: {done.why}.",
        "dtrain-lab keeps asking.",
        code="not_asked",
    )
