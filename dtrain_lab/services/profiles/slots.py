"""Holders of the slots of this machine or of a profile's hosts: clusters, jobs and other GPU processes."""

from __future__ import annotations

from dtrain_lab.placement.slots.slots import Slots
from dtrain_lab.services.policy import backends, limits
from dtrain_lab.services.profiles import files as profiles


async def hosts(profile: str) -> tuple[str, ...]:
    """Return the hosts to which connections would be opened for the slots of a profile.

    Raises:
        NotFound, BadProfile: The profile can't be used.
    """
    loaded = await profiles.loaded(profile)
    return backends.backend(loaded.backend).hosts(loaded)


async def listing(profile: str = "local") -> Slots:
    """Return all slots, each with its holder.

    Args:
        profile: Name of the profile whose machines are asked.

    Raises:
        BadRequest: The profile's machines have a scheduler.
        Forbidden: The administrator does not allow the profile.
        DtrainError: A host can't be asked.
    """
    loaded, backend = limits.allowed(await profiles.loaded(profile))
    return Slots(await backend.slots(loaded))


async def stop(identity: str, profile: str = "local") -> Slots:
    """End one of this user's GPU processes that belongs to no cluster and no job.

    Args:
        identity: Id of the process, from `listing`.
        profile: Name of the profile whose machines are searched.

    Returns:
        The slots afterwards.

    Raises:
        BadRequest: The profile's machines have a scheduler.
        NotFound: No such process holds a slot.
        Forbidden: The process is another user's, or belongs to a cluster or job.
    """
    loaded, backend = limits.allowed(await profiles.loaded(profile))
    await backend.stop(loaded, identity)
    return await listing(profile)
