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
