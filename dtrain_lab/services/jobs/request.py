"""Job requests: validation, and the profile settings that a request overrides."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from dtrain_lab.errors import BadProfile, BadRequest
from dtrain_lab.jobs import staging
from dtrain_lab.placement import slurm
from dtrain_lab.placement.frameworks import names as frameworks
from dtrain_lab.placement.profile import environment_of
from dtrain_lab.services import names
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.kinds import JobLauncher
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.traits import Traits

"""Name of a job, in any alphabet: by default it is the notebook's name."""


def check_request(request: JobRequest) -> None:
    """Validate a request.

    Raises:
        BadRequest, BadProfile: A value is invalid; the details name its field.
    """
    if request.name is not None:
        names.check(request.name, spaces=True)
    if not 0 <= request.retries <= 100:
        raise BadRequest(
            f"retries is {request.retries}; it must be 0 to 100.",
            "A failed job is started again this many times.",
            details={"field": "retries"},
        )
    if not 0 <= request.warn_s <= 86400:
        raise BadRequest(
            f"warn_s is {request.warn_s:g}; it must be 0 to 86400 seconds.",
            "Ranks are warned this long before the time limit.",
            details={"field": "warn_s"},
        )
    if request.mail is not None and not _is_mail(request.mail):
        raise BadRequest(
            f'mail: "{request.mail}" is not an e-mail address.',
            "Write it as name@host.",
            details={"field": "mail"},
        )
    if request.time is not None:
        slurm.time_s(request.time)
    if request.framework is not None:
        frameworks.checked(request.framework)
    staging.names(request.stage)


def data_missing(request: JobRequest, profile: Profile, traits: Traits) -> tuple[Finding, ...]:
    """Return a finding for each missing path to stage, if this machine sees the same files as the nodes."""
    if not traits.shares_folder or profile.ssh.login:
        return ()
    gone = [path for path in request.stage if not Path(path).expanduser().exists()]
    return tuple(
        Finding(
            "problem",
            "no_data",
            f"There is no {path} to copy to the nodes.",
            "Name data that is there, or leave it out.",
            field="stage",
        )
        for path in gone
    )


def _is_mail(text: str) -> bool:
    return text.count("@") == 1 and not any(c.isspace() or c in "\"'`$;&|<>\\" for c in text)


def as_asked(profile: Profile, request: JobRequest, traits: Traits) -> Profile:
    """Return the profile with the request's overrides.

    Args:
        profile: The profile.
        request: The request.
        traits: Traits of the profile's back-end.

    Raises:
        BadRequest, BadProfile: The profile's back-end has no such setting.
    """
    if (request.partition or request.options) and not traits.schedules:
        raise BadRequest(
            f'partition and options are for Slurm; the profile "{profile.name}" has none.',
            "Leave them out.",
            details={"field": "partition" if request.partition else "options"},
        )
    theirs = profile.slurm
    theirs = replace(
        theirs,
        partition=request.partition or theirs.partition,
        time=request.time or theirs.time,
        options=(*theirs.options, *request.options),
    )
    network = replace(profile.network, interface=request.interface or profile.network.interface)
    environment = profile.environment
    if request.environment is not None:
        environment = environment_of(request.environment, environment)
    framework = frameworks.checked(request.framework) if request.framework else profile.framework
    return replace(profile, slurm=theirs, network=network, environment=environment, framework=framework)


def launcher(request: JobRequest, profile: Profile, traits: Traits) -> JobLauncher:
    """Return the launcher that starts the ranks; torchrun starts none but torch's.

    Raises:
        BadRequest, BadProfile: The back-end has no such launcher.
    """
    known = traits.launchers
    if request.launcher not in (None, *known) and not traits.schedules:
        raise BadRequest(
            f'launcher = "{request.launcher}" is for Slurm; the profile "{profile.name}" has none.',
            "Leave it out.",
        )
    if profile.framework not in (None, "torch"):
        known = tuple(launcher for launcher in known if launcher != "torchrun")
        if request.launcher == "torchrun":
            raise BadRequest(
                f"torchrun starts ranks of PyTorch; this job's framework is {profile.framework}.",
                f"Use {' or '.join(known)}.",
                details={"field": "launcher"},
            )
        return known[0]
    wanted = request.launcher or (profile.slurm.launcher if traits.schedules else None) or known[0]
    found = next((launcher for launcher in known if launcher == wanted), None)
    if found is None:
        raise BadProfile(f'[slurm] launcher = "{wanted}".', f"Use {' or '.join(known)}.")
    return found
