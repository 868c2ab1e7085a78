"""An agent's support for ranks of frameworks other than torch.

It gives each rank the variables by which it finds the others, starts MindSpore's scheduler beside rank 0, and
ends ranks that only serve a chief, after the chief.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.environment_variables import JobEnvironment
from dtrain_lab.machine.net import tcp
from dtrain_lab.node.job_network import own_address
from dtrain_lab.placement.frameworks import mindspore, tensorflow
from dtrain_lab.placement.frameworks import ranks as of_ranks
from dtrain_lab.placement.frameworks.started import Started


class Adapter:
    """The framework of a job, as its agents see it; for torch it changes nothing.

    Args:
        node: index of the agent's node.
        size: number of ranks in the job.
        variables: environment of the agent.
    """

    def __init__(self, node: int, size: int, variables: Mapping[str, str]) -> None:
        job = JobEnvironment.from_environ(variables)
        self.plan = job.framework
        self._started = Started((), 1, 0)
        self._scheduler: asyncio.subprocess.Process | None = None
        if self.plan is not None:
            port = int(variables["MASTER_PORT"])
            self._started = Started(job.nodes, size // len(job.nodes), port)
            if self.plan.name == "mindspore":  # it takes addresses, and no names
                first = _address(job.nodes[0], job.peer if node == 0 else "")
                self._started = replace(self._started, nodes=(first, *job.nodes[1:]))

    @property
    def has_chief(self) -> bool:
        """Whether rank 0 is a chief, which the others serve."""
        return self.plan is not None and self.plan.strategy == "parameter_server"

    def serves(self, rank: int) -> bool:
        """Whether a rank only serves the chief, rank 0."""
        return self.plan is not None and self.plan.serves(rank)

    def variables(self, rank: int, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that a rank gets besides those of every rank.

        Args:
            rank: number of the rank.
            environment: its variables so far.
        """
        if self.plan is None:
            return {}
        result = of_ranks.variables(self.plan, self._started, rank)
        if self.plan.name == "tensorflow":
            from dtrain_lab.machine import gpus

            own_gpus = tensorflow.own_gpus(self.plan, gpus.usable(environment), rank, self._started.per_node)
            if own_gpus is not None:
                result |= gpus.only(own_gpus.gpus)
            if own_gpus is not None and own_gpus.shared:
                result[tensorflow.GROWTH] = environment.get(tensorflow.GROWTH, "true")
        return result

    def cannot_listen(self, ranks: Sequence[int]) -> str | None:
        """Message on a port of this node's ranks that another process has taken; None if all are free.

        Args:
            ranks: numbers of those ranks.
        """
        for rank in ranks:
            port = self._started.port + rank
            if self.plan is not None and of_ranks.listens(self.plan, rank) and not tcp.is_free(port):
                return f"port {port}, where rank {rank} would listen, is taken by another process"
        return None

    async def start_scheduler(self, folder: Path) -> None:
        """Start the process that MindSpore's workers register with; called by the agent of rank 0.

        Args:
            folder: the job's folder, which gets its output.
        """
        if self.plan is None or self.plan.name != "mindspore":
            return
        with open(folder / job_files.SCHEDULER_LOG, "ab") as file:  # noqa: ASYNC230
            self._scheduler = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-u", "-m", "dtrain_lab.rank.frameworks.mindspore_scheduler"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, **mindspore.scheduler(self._started)},
                start_new_session=True,
            )

    async def scheduler_failed(self, folder: Path) -> str | None:
        """Wait until that process has ended, which it does by itself once all workers have left.

        Args:
            folder: the job's folder.

        Returns:
            A message with its last line if it failed; None if it did not fail, or there is none.
        """
        code = await self._scheduler.wait() if self._scheduler is not None else 0
        if not code:
            return None
        lines = (folder / job_files.SCHEDULER_LOG).read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it has printed nothing")
        return f"lost MindSpore's scheduler, which ended with code {code}: {last}"

    async def end_scheduler(self) -> None:
        """End that process, if it still runs: it waits for workers that have failed."""
        if self._scheduler is not None and self._scheduler.returncode is None:
            self._scheduler.kill()
            await self._scheduler.wait()


def _address(first: str, peer: str) -> str:
    """Return the address of the first node, whose name may resolve to loopback on the node itself.

    Args:
        first: its name or address.
        peer: another node, on the first node itself; else empty.
    """
    address = own_address(peer) if peer and peer != first else None
    if address is not None:
        return address
    try:
        return socket.gethostbyname(first)
    except OSError:
        return first
