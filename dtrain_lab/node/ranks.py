"""Runs a job's ranks on a node, and the agent that reports them to the job's head: `dtrain_lab.node ranks`.

`python -m dtrain_lab.node ranks FOLDER` runs the single rank of the srun task or torchrun worker that it is;
`… FOLDER NODE RANKS` makes the ranks of a node itself, without such a launcher. With a further `apart`, each
node has a script of its own, and ranks that have succeeded wait for those of other nodes: an attempt ends
everywhere, or restarts everywhere. A job does not need its head.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from dtrain_lab.machine import processes
from dtrain_lab.machine.logs import event_logs
from dtrain_lab.node import job_network
from dtrain_lab.node.sources import launcher
from dtrain_lab.node.sources.spawn import JobRanks


def main(arguments: list[str]) -> int:
    """Entry point: `ranks FOLDER [NODE RANKS [apart]]`."""
    processes.end_with_parent(signal.SIGTERM)  # end with a launcher that is killed
    node, ranks, size = launcher.ranks(arguments[2:])
    job_network.use(Path(arguments[1]), node)
    apart = len(arguments) > 4
    # a file for each rank that has an agent of its own; created with the first message
    name = f"agent.{node}.{ranks[0][0]}{event_logs.SUFFIX}"
    event_logs.to_file(Path(arguments[1], name), level="WARNING")
    return asyncio.run(run(JobRanks(Path(arguments[1]), node, ranks, size, apart=apart)))


async def run(ranks: JobRanks) -> int:
    """Start the ranks, then report them until they have ended; returns their exit code."""
    await ranks.start()
    # imported late, while the ranks load torch
    from dtrain_lab.node.agent import serve
    from dtrain_lab.node.sources.spawned_source import SpawnedRanksSource

    return await serve(SpawnedRanksSource(ranks))
