"""Queues a job for slots on machines without a scheduler: `python -m dtrain_lab.node admit FOLDER [NODE]`.

It runs first in a job's script, on each host; without NODE this machine stands for all nodes. The hosts
schedule themselves: each has tickets of its own, and the first host collects the others' states, so that all
start at once. It prints a port for the ranks' rendezvous and the GPUs they may use. After that, the first
host sends the others the endpoints of the job's head for a while, since they may share no folder.
"""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import supervision
from dtrain_lab.node.admission.first_host import FirstHost
from dtrain_lab.node.admission.other_host import OtherHost
from dtrain_lab.node.admission.ticket import POLL_S, AdmissionFailed, HostTicket
from dtrain_lab.wire.codec import lenient
from dtrain_lab.wire.jobs.job import JobRecord


async def run(folder: Path, node: int | None) -> int:
    """Wait for the job's slots, print port and GPUs, and inform the other hosts.

    Args:
        folder: The job's folder.
        node: Index of this host; None if this machine stands for all nodes.

    Returns:
        Exit code: 1 if the job will not start.
    """
    record = lenient.decode((folder / job_files.JOB).read_bytes(), JobRecord)
    script = os.getppid()
    supervision.here().start_loop("admission.end", partial(_end_with, script))
    ticket = HostTicket(record, folder, node, script)
    mine: FirstHost | OtherHost
    try:
        if node:
            mine = OtherHost(ticket, record, folder, node)
        else:
            mine = FirstHost(ticket, record, folder, node is not None and len(record.plan.nodes) > 1)
    except AdmissionFailed as error:
        print(f"dtrain-lab: {error}", file=sys.stderr)
        return 1
    try:
        port = await mine.wait()
        print(port, ",".join(ticket.devices), flush=True)
        sys.stdout.close()
        await mine.exchange_endpoints()
    except AdmissionFailed as error:
        print(f"dtrain-lab: {error}", file=sys.stderr)
        return 1
    finally:
        mine.close()
    return 0


async def _end_with(script: int) -> None:
    """End this process when the job's script has ended."""
    while os.getppid() == script:
        await asyncio.sleep(POLL_S)
    os._exit(1)


def main(arguments: list[str]) -> int:
    """Entry point: `admit FOLDER [NODE]`."""
    return asyncio.run(run(Path(arguments[1]), int(arguments[2]) if len(arguments) > 2 else None))
