"""Administrators' limits, checked here for every start, resize, job, profile check, slot and sign-in."""

from __future__ import annotations

from typing import NamedTuple

from dtrain_lab.backends.base import Backend
from dtrain_lab.errors import BadSize
from dtrain_lab.placement.policy import Uses, applied, check, check_host
from dtrain_lab.services.policy import backends, policy
from dtrain_lab.wire.jobs.job import JobRecord, JobRequest
from dtrain_lab.wire.plan import Facts, Plan, Request
from dtrain_lab.wire.profile import Profile


class Allowed(NamedTuple):
    """A profile that may be used, with the administrator's defaults, and its back-end."""

    profile: Profile
    backend: Backend

    def plan(self, facts: Facts, request: Request, *, python: str, directory: str) -> Plan:
        """Make a plan of an allowed size; the arguments are those of `Backend.plan`.

        Raises:
            BadSize: The request can never run, or the administrator allows fewer ranks.
        """
        rules = policy.current()
        try:
            plan = self.backend.plan(facts, self.profile, request, python=python, directory=directory)
        except BadSize as error:
            nearest = error.details.get("nearest") or [error.details.get("most", 0)]
            asked = error.details.get("asked")  # a back-end of another package may not check it
            if rules.ranks and asked and max(nearest) > rules.ranks:  # a size that would be refused, too
                check(rules, self.profile, uses(self.backend, self.profile), asked)
            raise
        check(rules, self.profile, uses(self.backend, self.profile), plan.size)
        return plan


def allowed(profile: Profile, request: JobRequest | None = None, backend: Backend | None = None) -> Allowed:
    """Check a profile, and what a request overrides in it, before any of its machines is contacted.

    Args:
        profile: The profile.
        request: The request, for a job.
        backend: The profile's back-end, for callers that have looked it up.

    Raises:
        Forbidden: The administrator does not allow the profile or the request.
    """
    rules, backend = policy.current(), backend or backends.backend(profile.backend)
    profile = applied(rules, profile)
    check(rules, profile, uses(backend, profile), request=request)
    return Allowed(profile, backend)


def uses(backend: Backend, profile: Profile) -> Uses:
    """Return what a profile uses.

    Args:
        backend: Its back-end.
        profile: The profile.
    """
    return Uses(backend.traits, backend.hosts(profile), backend.options(profile))


def recheck(record: JobRecord, backend: Backend) -> None:
    """Check a job that was planned earlier, before it is submitted or resumed.

    Args:
        record: Record of the job.
        backend: Its back-end.

    Raises:
        Forbidden, BadSize: The administrator does not allow the job any more.
    """
    check(policy.current(), record.profile, uses(backend, record.profile), record.plan.size, record.request)


def allow_host(host: str) -> None:
    """Check a host that the user wants to sign in to.

    Raises:
        Forbidden: The administrator does not allow the host.
    """
    check_host(policy.current(), host)
