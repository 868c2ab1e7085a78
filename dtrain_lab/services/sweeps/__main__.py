"""The process that drives a sweep: `python -m dtrain_lab.services.sweeps FOLDER`, policy on stdin."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from dtrain_lab.services.bug_report import process_log
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.policy import policy
from dtrain_lab.services.sweeps import driver
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.wire.processes.settings import ServerSettings

TAKES_WITHIN_S = 3.0
"""Seconds that the previous driver may take to end."""


async def main(folder: Path) -> None:
    """Drive the sweep in a folder, unless another driver does."""
    lock = await asyncio.to_thread(folders.take, folder, TAKES_WITHIN_S)
    if lock is None:
        return
    process_log.begin("sweep")
    process_log.watch("sweep")
    # the lock lasts as long as this process: after a crash, `Sweeps.adopt` starts another one
    await driver.Driver(folder, Jobs()).run()


if __name__ == "__main__":
    policy.apply(msgspec.json.decode(sys.stdin.buffer.read(), type=ServerSettings))
    asyncio.run(main(Path(sys.argv[1])))
