"""What an administrator allows: a value that the server hands to its kernels."""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct

from dtrain_lab.core.network import port_range
from dtrain_lab.core.profile import Profile
from dtrain_lab.errors import Forbidden


class Policy(Struct, frozen=True):
    """Limits on what a profile may ask for; None or True: no limit.

    `hosts` are patterns ("gpu-*"); `options` whether profiles may pass options of their own to the scheduler;
    `ports` a range that a profile's has to lie in.
    """

    backends: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    options: bool = True
    ports: str | None = None
    idle_limit_s: float = 1800.0
    poll_floor_s: float = 30.0


def check(policy: Policy, profile: Profile) -> None:
    """May this profile be used?

    Raises:
        Forbidden: the administrator does not allow it; the message says what.
    """
    if policy.backends is not None and profile.backend not in policy.backends:
        raise Forbidden(
            f'The administrator does not allow the back-end "{profile.backend}".',
            f"Allowed: {', '.join(policy.backends) or 'none'}.",
            code="backend_not_allowed",
        )
    hosts = [*profile.ssh.hosts, *([profile.ssh.login] if profile.ssh.login else [])]
    for host in hosts:
        name = host.rpartition("@")[2]
        if policy.hosts is not None and not any(fnmatchcase(name, pattern) for pattern in policy.hosts):
            raise Forbidden(
                f"The administrator does not allow the host {name}.",
                f"Allowed: {', '.join(policy.hosts) or 'none'}.",
                code="host_not_allowed",
            )
    if profile.slurm.options and not policy.options:
        raise Forbidden(
            "The administrator does not allow options of a profile's own for the scheduler.",
            "Remove [slurm] options from the profile.",
            code="options_not_allowed",
        )
    allowed, asked = port_range(policy.ports), port_range(profile.network.ports)
    if allowed is not None and asked is not None and (asked[0] < allowed[0] or asked[-1] > allowed[-1]):
        raise Forbidden(
            f"The administrator allows the ports {policy.ports} only.",
            "Change [network] ports in the profile.",
            code="ports_not_allowed",
        )
