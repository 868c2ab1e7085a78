"""Checks of requests and profiles against the administrator's policy. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec.structs import replace

from dtrain_lab.errors import BadSize, Forbidden
from dtrain_lab.placement.network import port_range
from dtrain_lab.text import rank_names
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.processes.settings import Policy
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.traits import Traits


def check_host(policy: Policy, host: str) -> None:
    """Check whether a host may be used.

    Args:
        policy: The administrator's policy; without patterns, every host may be used.
        host: The host, with or without `user@`.

    Raises:
        Forbidden: the host matches none of the administrator's patterns.
    """
    name = host.rpartition("@")[2]
    if policy.hosts is not None and not any(fnmatchcase(name, pattern) for pattern in policy.hosts):
        raise Forbidden(
            f"The administrator does not allow the host {name}.",
            f"Allowed: {', '.join(policy.hosts) or 'no host'}.",
            code="host_not_allowed",
        )


def applied(policy: Policy, profile: Profile) -> Profile:
    """Give a profile without a port range the administrator's.

    Args:
        policy: The administrator's policy.
        profile: The profile; a range of its own is kept.
    """
    if profile.network.ports is not None or policy.ports is None:
        return profile
    return replace(profile, network=replace(profile.network, ports=policy.ports))


class Uses(NamedTuple):
    """What a profile uses, as its back-end says.

    `hosts`: to which connections are opened from here. `options`: the profile's own ones for the scheduler.
    """

    traits: Traits
    hosts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def check(
    policy: Policy, profile: Profile, uses: Uses, size: int = 0, request: JobRequest | None = None
) -> None:
    """Check a plan; without a size, its profile, before any of its machines is contacted.

    Args:
        policy: the administrator's policy.
        profile: the profile.
        uses: what it uses.
        size: number of ranks, once there is a plan.
        request: request of a job, whose options and environment override the profile's.

    Raises:
        Forbidden: the administrator does not allow it; the message names the reason.
        BadSize: the administrator allows fewer ranks.
        BadRequest: a port range can't be parsed.
    """
    if not policy.local and uses.traits.one_machine:
        raise Forbidden(
            "The administrator does not allow ranks on this machine.",
            "Choose another profile.",
            code="no_local_ranks",
        )
    if policy.backends is not None and profile.backend not in policy.backends:
        raise Forbidden(
            f'The administrator does not allow the back-end "{profile.backend}".',
            f"Allowed: {', '.join(policy.backends) or 'no back-end'}.",
            code="backend_not_allowed",
        )
    for host in uses.hosts:
        check_host(policy, host)
    _check_options(policy, uses, request)
    _check_ports(policy, profile)
    if request is not None and request.environment is not None and not policy.environments:
        raise Forbidden(
            "The administrator does not allow a job to name its environment.",
            "Use the profile's environment.",
            code="environment_not_allowed",
            details={"field": "environment"},
        )
    if policy.ranks and size > policy.ranks:
        raise BadSize(
            f"The administrator allows at most {rank_names.count(policy.ranks)}; this asks for {size}.",
            f"Ask for at most {policy.ranks}.",
            details={"most": policy.ranks, "field": "ranks"},
        )


def _check_options(policy: Policy, uses: Uses, request: JobRequest | None) -> None:
    options = (*uses.options, *(request.options if request else ()))
    if options and not policy.options:
        asks = request is not None and bool(request.options)
        raise Forbidden(
            "The administrator does not allow extra options for the scheduler.",
            "Leave the options out." if asks else "Remove the options for the scheduler from the profile.",
            code="options_not_allowed",
            details={"field": "options"} if asks else {},
        )


def _check_ports(policy: Policy, profile: Profile) -> None:
    allowed, requested = port_range(policy.ports), port_range(profile.network.ports)
    if (
        allowed is not None
        and requested is not None
        and (requested[0] < allowed[0] or requested[-1] > allowed[-1])
    ):
        raise Forbidden(
            f"The administrator allows the ports {policy.ports} only.",
            "Change [network] ports in the profile.",
            code="ports_not_allowed",
        )
