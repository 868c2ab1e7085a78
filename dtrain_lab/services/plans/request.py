"""Job requests, merged with the settings of their profile."""

from __future__ import annotations

from msgspec import Struct

from dtrain_lab.backends.base import Backend
from dtrain_lab.errors import BadProfile, BadRequest
from dtrain_lab.placement.overrides import as_asked
from dtrain_lab.services.policy import limits
from dtrain_lab.services.policy.limits import Allowed
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.kinds import JobLauncher
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.traits import Traits


class Settings(Struct, frozen=True):
    """Settings of a job.

    Attributes:
        allowed: The profile with the request's overrides, and its back-end; the administrator allows them.
        launcher: What starts the ranks.
    """

    allowed: Allowed
    launcher: JobLauncher


def settings(request: JobRequest, profile: Profile, backend: Backend) -> Settings:
    """Merge a request with its profile.

    Args:
        request: The user's request, whose values were checked (`request_errors.split`).
        profile: Its profile.
        backend: The profile's back-end.

    Raises:
        BadRequest, BadProfile: The back-end has no such launcher; the details name the field.
        Forbidden: The administrator does not allow the profile or the request.
    """
    starts = launcher(request, profile, backend.traits)
    allowed = limits.allowed(profile, request, backend)
    wanted = as_asked(backend.as_asked(allowed.profile, request), request, backend.traits)
    return Settings(allowed._replace(profile=wanted), starts)


def launcher(request: JobRequest, profile: Profile, traits: Traits) -> JobLauncher:
    """Return the launcher that starts the ranks; torchrun starts torch's ranks only.

    Args:
        request: The user's request, which may name a launcher.
        profile: The profile, which may name one as well.
        traits: The back-end's, with the launchers that it has, the usual one first.

    Raises:
        BadRequest, BadProfile: The back-end has no such launcher.
    """
    known, framework = traits.launchers, request.framework or profile.framework
    if request.launcher not in (None, *known) and not traits.schedules:
        raise BadRequest(
            f'launcher = "{request.launcher}" is for schedulers; the profile "{profile.name}" has none.',
            "Leave it out.",
        )
    if framework not in (None, "torch"):
        known = tuple(launcher for launcher in known if launcher != "torchrun")
        if request.launcher == "torchrun":
            raise BadRequest(
                f"torchrun starts ranks of PyTorch; this job's framework is {framework}.",
                f"Use {' or '.join(known)}.",
                details={"field": "launcher"},
            )
        return known[0]
    wanted = request.launcher or (profile.slurm.launcher if traits.schedules else None) or known[0]
    found = next((launcher for launcher in known if launcher == wanted), None)
    if found is None:
        raise BadProfile(f'[slurm] launcher = "{wanted}".', f"Use {' or '.join(known)}.")
    return found
