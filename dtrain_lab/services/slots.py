"""Who holds the slots of this machine, or of a profile's hosts: clusters, jobs, strangers on their GPUs."""

from __future__ import annotations

from dtrain_lab.backends.jobs import job_backend
from dtrain_lab.core.slots import Slots
from dtrain_lab.services import profiles


async def look(profile: str = "local") -> Slots:
    """All slots, each with its holder.

    Args:
        profile: whose machines are asked.

    Raises:
        BadRequest: its machines have a scheduler.
        DtrainError: a host can't be asked.
    """
    loaded = profiles.load(profile)
    return Slots(await job_backend(loaded.backend).slots(loaded))


async def stop(identity: str, profile: str = "local") -> Slots:
    """End a process of this user's on a GPU that is neither a cluster's nor a job's.

    Args:
        identity: of the process, as `look` gives it.
        profile: on whose machines it is.

    Returns:
        The slots afterwards.

    Raises:
        BadRequest: its machines have a scheduler.
        NotFound: no such process holds a slot.
        Forbidden: it is not this user's, or a cluster's or job's.
    """
    loaded = profiles.load(profile)
    await job_backend(loaded.backend).stop(loaded, identity)
    return await look(profile)
