"""The profile of a job: settings of its request override the profile's. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.errors import BadRequest
from dtrain_lab.placement.amounts import time_s
from dtrain_lab.placement.frameworks import names as frameworks
from dtrain_lab.placement.profile import environment_of
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.traits import Traits


def as_asked(profile: Profile, request: JobRequest, traits: Traits) -> Profile:
    """Return the profile with the request's overrides, without those for a scheduler (`Backend.as_asked`).

    Args:
        profile: The profile.
        request: The request.
        traits: Traits of the profile's back-end.

    Raises:
        BadRequest, BadProfile: The profile's back-end has no such setting.
    """
    if (request.partition or request.options) and not traits.schedules:
        raise BadRequest(
            f'partition and options are for schedulers; the profile "{profile.name}" has none.',
            "Leave them out.",
            details={"field": "partition" if request.partition else "options"},
        )
    if request.time is not None:
        time_s(request.time)
    network = replace(profile.network, interface=request.interface or profile.network.interface)
    environment = profile.environment
    if request.environment is not None:
        environment = environment_of(request.environment, environment)
    framework = frameworks.checked(request.framework) if request.framework else profile.framework
    return replace(profile, network=network, environment=environment, framework=framework)
