"""A job's ranks on a node: spawns them, stores their output, watches for exits, ends peers of a failed rank.

The ranks' output lines go to `log.NODE`, their metrics to the job's head, if there is one.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol

from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.environment_variables import JobEnvironment
from dtrain_lab.machine import processes, supervision
from dtrain_lab.node.forkserver import trials
from dtrain_lab.node.sources import parameter_servers
from dtrain_lab.node.sources.frameworks import Adapter
from dtrain_lab.node.sources.job_log import PIECE, Output
from dtrain_lab.node.sources.parameter_servers import Serving
from dtrain_lab.node.sources.rank_error import write_error
from dtrain_lab.node.sources.spawned_rank import SpawnedRank, signal_all

GRACE_S = 5.0
"""Seconds for the peers of a failed rank to write their own errors before they are ended."""
TELL_WITHIN_S = 20.0
"""Seconds to wait for a head that is starting."""
POLL_S = 0.5
START_AFTER_S = 1.0
"""Seconds after which a fork server for the next trials is started."""


class Head(parameter_servers.Head, Protocol):
    """The job's head, as its ranks' agent sees it; there may be none."""

    def ended(self, child: SpawnedRank, code: int) -> None:
        """Report the exit of a rank."""


class JobRanks:
    """Runs ranks as child processes; a job needs no head.

    Args:
        folder: The job's folder.
        node: Index of this node.
        ranks: Rank and local rank of each rank to run here.
        size: Number of ranks in the job.
        apart: Other nodes have scripts of their own.
    """

    def __init__(
        self, folder: Path, node: int, ranks: list[tuple[int, int]], size: int, *, apart: bool = False
    ) -> None:
        self.folder = folder
        self.node = node
        self.children = [SpawnedRank(rank, local) for rank, local in ranks]
        self._size = size
        self._apart = apart
        self._framework = Adapter(node, size, os.environ)
        self._output = Output(folder, node)
        self._job = JobEnvironment.from_environ()
        by_torchrun = int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or "0")
        self.attempt = self._job.attempt if self._job.attempt is not None else by_torchrun
        serves = [child for child in self.children if self._framework.serves(child.rank)]
        self._serving = Serving(serves, self.attempt)
        self._never = self._job.never or None
        """Why the ranks can't start here; reported like the failure of a rank, so that its peers end."""
        self._forkserver = trials.path()
        """Socket of a fork server for trials; None if ranks are spawned."""
        self._warned = False
        self._ending = False
        self._cancelled = asyncio.Event()
        self._peer_failed = asyncio.Event()
        self._first: tuple[int, int] | None = None
        """The rank that failed first here, and its exit code."""

    async def start(self) -> None:
        """Start the ranks."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._cancel)
        supervisor = supervision.here()
        supervisor.own_loop()
        # schedulers send it to all processes; ranks get it from us, once
        loop.add_signal_handler(signal.SIGUSR2, self._warn)
        if self._never is None:
            self._never = self._framework.cannot_listen([child.rank for child in self.children])
        if self._never is None and any(child.rank == 0 for child in self.children):
            await self._framework.start_scheduler(self.folder)
            supervisor.once("node.task", self._watch_scheduler())
        await asyncio.gather(*(self._start(child) for child in self.children))
        for child in self.children:
            child.began = processes.began_at(child.pid)

    async def run(self, head: Head) -> int:
        """Run the ranks to their end.

        Args:
            head: Told of their ends, and asked for those of ranks on other nodes.

        Returns:
            The exit code of the first rank that failed, else 0.
        """
        from dtrain_lab.machine.cgroup import OutOfMemory  # late: the ranks load torch meanwhile

        self._memory = OutOfMemory()
        supervisor = supervision.here()
        supervisor.start_loop("node.look", self._poll)
        if self._apart and self._serving.ranks and not any(child.rank == 0 for child in self.children):
            supervisor.once("node.task", self._wait_for_chief(head))
        await asyncio.gather(*(self._wait_for_rank(child, head) for child in self.children))
        if self._first is not None and self._size > len(self.children):
            # its peers on other nodes end when the head tells them: wait until the head knows. It may still
            # start, and on a busy node a closing link would be given up before it is connected
            await _first((head.others_end(TELL_WITHIN_S), self._cancelled.wait()))
        code = self._first[1] if self._first is not None else 0
        if self._apart and not code:
            code = await self._wait_for_others(head)
        await supervisor.close()
        await self._framework.end_scheduler()
        return code

    async def _wait_for_others(self, head: Head) -> int:
        """Wait for ranks on other nodes; returns 0 if they succeed, or no head knows of them."""
        reported = head.others_end(TELL_WITHIN_S)
        await _first((reported, self._peer_failed.wait(), self._cancelled.wait()))
        if self._cancelled.is_set():
            return 128 + signal.SIGTERM
        return int(self._peer_failed.is_set())

    async def _wait_for_chief(self, head: Head) -> None:
        if not await self._serving.wait_for_chief(head):
            self._end_soon()

    async def _watch_scheduler(self) -> None:
        """Without MindSpore's scheduler its ranks would wait for minutes, and say nothing of it."""
        why = await self._framework.scheduler_failed(self.folder)
        if why is not None:
            for child in self.children:
                child.why = why if child.rank == 0 else ""
            # as after a failed rank: they may be about to end by themselves
            asyncio.get_running_loop().call_later(GRACE_S, self._end_soon)

    # ---- ranks

    async def _start(self, child: SpawnedRank) -> None:
        (self.folder / job_files.error(child.rank)).unlink(missing_ok=True)  # left by the previous attempt
        environment = dict(os.environ)
        local = len(self.children)
        if "RANK" not in os.environ:
            environment.update(
                RANK=str(child.rank),
                LOCAL_RANK=str(child.local_rank),
                WORLD_SIZE=str(self._size),
                LOCAL_WORLD_SIZE=str(local),
                NODE_RANK=str(self.node),
            )
        if child.rank == 0 and self._job.attempt is None and self.attempt:
            # torchrun restarted the ranks by itself: the script wrote only the first attempt's number
            (self.folder / job_files.ATTEMPT).write_text(f"{self.attempt}\n")
        environment.update(self._framework.variables(child.rank, environment))
        environment[environment_variables.ATTEMPT] = str(self.attempt)
        environment[environment_variables.AGENT] = str(os.getpid())
        environment[environment_variables.METRICS] = str(child.metrics)
        environment[environment_variables.STACKS] = str(child.stacks)
        environment[environment_variables.DEBUG] = str(child.its_debugger.fileno())
        if self._forkserver is not None and self._never is None:
            files = (child.metrics, child.stacks, child.its_debugger.fileno())
            arguments = ["dtrain_lab.rank", str(self.folder)]
            child.process = await trials.fork(self._forkserver, child.rank, arguments, environment, files)
        if child.process is None:
            await self._spawn(child, environment)
        child.its_debugger.close()

    async def _spawn(self, child: SpawnedRank, environment: dict[str, str]) -> None:
        rank = [sys.executable, "-P", "-u", "-m", "dtrain_lab.rank", str(self.folder)]
        child.process = await asyncio.create_subprocess_exec(
            *(rank if self._never is None else ["false"]),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            pass_fds=(child.metrics, child.stacks, child.its_debugger.fileno()),
            limit=PIECE,
            # as torchrun does: Linux balances CPUs among sessions; in a shared one, a step took 2 % longer
            start_new_session=True,
        )
        if self._forkserver is not None and child is self.children[0] and self._never is None:
            # for the next trials; late, as these ranks are loading torch now
            asyncio.get_running_loop().call_later(START_AFTER_S, trials.start, self._forkserver)

    async def _wait_for_rank(self, child: SpawnedRank, head: Head) -> None:
        code = await self._output.until_end(child)
        if child.served:
            code = 0
        if code or self._ending:  # end its children with it
            signal_all(child, signal.SIGKILL)
        if code:
            self._failed(child, code)
        elif child.rank == 0 and self._framework.has_chief:
            (self.folder / job_files.finished(self.attempt)).touch()
            self._serving.end()
        head.ended(child, code)

    def _failed(self, child: SpawnedRank, code: int) -> None:
        if self._first is None:
            self._first = child.rank, code if code > 0 else 128 - code
        if not (self.folder / job_files.error(child.rank)).exists():
            write_error(self.folder, child, code, self._never, self._memory)
        marker = self.folder / job_files.failed(self.attempt)
        try:
            with open(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump({"rank": child.rank, "code": code, "at": time.time()}, file)
        except OSError:  # another rank was first, or the disk is full
            pass
        asyncio.get_running_loop().call_later(GRACE_S, self._end_soon)

    # ---- end

    def _cancel(self) -> None:
        """End the ranks on request, without notifying other nodes."""
        self._cancelled.set()
        self._end_soon()

    def _end_soon(self) -> None:
        """Send SIGTERM now, and SIGKILL after `GRACE_S`."""
        if self._ending:
            return
        self._ending = True
        self._signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(GRACE_S, self._signal, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        for child in self.children:
            process = child.process
            if process is not None and process.returncode is None:
                child.stopped = True
                signal_all(child, number)

    def _warn(self) -> None:
        if self._warned:
            return
        self._warned = True
        for child in self.children:
            if child.process is not None and child.process.returncode is None:
                child.process.send_signal(signal.SIGUSR2)

    def end_with_peers(self) -> None:
        """A rank on another node has failed: end the ranks here, after time to write their own errors."""
        self._peer_failed.set()
        asyncio.get_running_loop().call_later(GRACE_S, self._end_soon)

    async def _poll(self) -> None:
        peer_ended = False
        while True:
            await asyncio.sleep(POLL_S)
            if not peer_ended and (self.folder / job_files.failed(self.attempt)).exists():
                peer_ended = True
                self.end_with_peers()
            if self._serving.ranks and (self.folder / job_files.finished(self.attempt)).exists():
                self._serving.end()
            if (self.folder / job_files.WARNED).exists():
                self._warn()
            if (self.folder / job_files.CANCELLED).exists():
                self._cancel()


async def _first(works: Sequence[Coroutine[Any, Any, Any]], within_s: float | None = None) -> None:
    """Wait until the first coroutine is done or time is up; the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    for task in done:
        await task
