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
    starts = launcher(request, profile, backend)
    allowed = limits.allowed(profile, request, backend)
    wanted = as_asked(backend.as_asked(allowed.profile, request), request, backend.traits)
    return Settings(allowed._replace(profile=wanted), starts)


def launcher(request: JobRequest, profile: Profile, backend: Backend) -> JobLauncher:
    """Return the launcher that starts the ranks; torchrun starts torch's ranks only.

    Args:
        request: The user's request, which may name a launcher.
        profile: The profile, which may name one as well.
        backend: The profile's back-end.

    Raises:
        BadRequest, BadProfile: The back-end has no such launcher.
    """
    supported, framework = backend.traits.launchers, request.framework or profile.framework
    if request.launcher not in (None, *supported) and not backend.traits.schedules:
        raise BadRequest(
            f'launcher = "{request.launcher}" is for schedulers; the profile "{profile.name}" has none.',
            "Leave it out.",
        )
    if framework not in (None, "torch"):
        supported = tuple(launcher for launcher in supported if launcher != "torchrun")
        if request.launcher == "torchrun":
            raise BadRequest(
                f"torchrun starts ranks of PyTorch; this job's framework is {framework}.",
                f"Use {' or '.join(supported)}.",
                details={"field": "launcher"},
            )
        return supported[0]
    wanted = request.launcher or backend.launcher(profile) or supported[0]
    for choice in supported:
        if choice == wanted:
            return choice
    hint = f"Use {' or '.join(supported)}."
    if request.launcher is not None:
        raise BadRequest(f'There is no launcher "{wanted}".', hint, details={"field": "launcher"})
    raise BadProfile(f'[{profile.backend}] launcher is "{wanted}".', hint)
