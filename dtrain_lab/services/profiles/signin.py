"""Signing in to hosts that ask the user for a password or a code."""

from __future__ import annotations

from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.errors import BadRequest, NotFound
from dtrain_lab.services.policy import backends, limits
from dtrain_lab.services.profiles import files as profiles
from dtrain_lab.wire.site import SignedIn, SignIn


async def sign_in(request: SignIn) -> SignedIn:
    """Start signing in to a host, or answer its questions.

    Args:
        request: The user's request.

    Raises:
        BadRequest: The request names neither a host nor questions.
        Forbidden: The administrator does not allow the host.
        NotFound: No profile names the host, or no attempt waits for the answer.
        SignInNeeded: The host asks (more) questions, which the details carry, or refuses the login.
        Unreachable: The host does not answer.
    """
    if request.id is not None:
        return SignedIn(await ssh_connections.answer(request.id, request.answers))
    if request.host is None:
        raise BadRequest("Neither a host nor an answer was given.", "Give host, or id and answers.")
    if request.host not in _profile_hosts():
        raise NotFound(f'No profile names the host "{request.host}".', "Add it to [ssh] of a profile.")
    limits.allow_host(request.host)
    ssh_connections.forget_refusal(request.host)
    await ssh_connections.connection(request.host)
    return SignedIn(request.host)


def _profile_hosts() -> set[str]:
    usable = (listed.profile for listed in profiles.listing() if listed.profile is not None)
    return {host for profile in usable for host in backends.backend(profile.backend).hosts(profile)}
