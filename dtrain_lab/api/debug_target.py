"""Finds what an editor debugs: a cluster or a job, by its name or id, or the only one that runs."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from dtrain_lab.api.portal import Portal
from dtrain_lab.debugger.state import JobCode
from dtrain_lab.errors import BadRequest, DtrainError, NotFound
from dtrain_lab.jobs.judgement import answers
from dtrain_lab.machine import supervision
from dtrain_lab.services.connection import Connection
from dtrain_lab.wire.kinds import JOB_ENDED

Target = tuple[Connection, JobCode | None]
JobTarget = tuple[Connection, JobCode]
END_POLL_S = 2.0
SAY = 'Name one: dtrain-lab debug --stdio NAME, or "cluster" or "job" in the editor\'s configuration.'


async def find(portal: Portal, cluster: str | None, job: str | None) -> Target:
    """Connect to a cluster or job; takes no lease on it. Runs in the portal's loop.

    Args:
        portal: This process's portal.
        cluster: Name or id of a cluster, or else of a job.
        job: Name or id of a job.

    Raises:
        NotFound: There is none of this name, or none runs.
        BadRequest: Several run, and none is named.
        Conflict: The job is not running.
        Unreachable: The head can't be reached.
    """
    if job:
        return await reach_job(portal, job)
    if not cluster:
        cluster = await _only(portal)
    try:
        return await portal.worlds.connect(cluster), None
    except NotFound as missing:
        try:
            return await reach_job(portal, cluster)
        except NotFound:
            raise NotFound(f'There is no cluster and no job "{cluster}".', missing.hint) from None


async def reach_job(portal: Portal, name: str) -> JobTarget:
    """Connect to a running job's head; the connection closes when the job ends. Runs in the portal's loop.

    Args:
        portal: The portal of this process.
        name: Name or id of the job.

    Raises:
        NotFound: There is no such job.
        Conflict: It is not running.
        Unreachable: The head can't be reached.
    """
    job = await portal.jobs.job(name)
    reader = await portal.jobs.reader(job.id)
    here = str(Path(job.notebook or ".").absolute().parent)
    connection = await reader.connect()
    supervision.here().start_loop("debug.job", partial(_close_at_end, portal, job.id, connection))
    return connection, JobCode(await reader.cell_names(), (here, reader.code))


async def _close_at_end(portal: Portal, job: str, connection: Connection) -> None:
    """Close the connection once the job or its head has ended: a head that was killed can't say so."""
    while not connection.closed:
        await asyncio.sleep(END_POLL_S)
        try:
            now = await portal.jobs.job(job)
            ended = now.state in JOB_ENDED
            if now.reason is not None and not answers(now):
                ended, connection.presence.why = True, f"{now.name} can't be asked. {now.reason.message}"
        except NotFound:  # deleted
            ended = True
        except DtrainError:  # its host can't be reached; the job may run on
            continue
        if ended:
            connection.has_ended()
            connection.close()


async def _only(portal: Portal) -> str:
    names = [record.name for record in portal.worlds.running()]
    names += [job.id for job in await portal.jobs.listing() if job.state == "running"]
    if len(names) == 1:
        return names[0]
    if not names:
        raise NotFound("No cluster and no job is running.", "Start one, or name one that runs elsewhere.")
    raise BadRequest(f"Several run: {', '.join(names)}.", SAY)
