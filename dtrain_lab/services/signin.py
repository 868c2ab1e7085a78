"""Signing in to hosts that ask a person for something: a code, a password."""

from __future__ import annotations

from dtrain_lab.backends import hosts
from dtrain_lab.core.site import SignedIn, SignIn
from dtrain_lab.errors import BadRequest, NotFound
from dtrain_lab.services import profiles


async def sign_in(request: SignIn) -> SignedIn:
    """Begin to sign in to a host, or answer what it asked.

    Args:
        request: of a person.

    Raises:
        BadRequest: it names neither a host nor questions.
        NotFound: no profile names the host, or nothing waits for the answer.
        SignInNeeded: it asks (more), or refuses; the details hold the questions.
        Unreachable: it does not answer.
    """
    if request.id is not None:
        return SignedIn(await hosts.answer(request.id, request.answers))
    if request.host is None:
        raise BadRequest("Neither a host nor an answer was given.", "Give host, or id and answers.")
    if request.host not in _known():
        raise NotFound(f'No profile names the host "{request.host}".', "Add it to [ssh] of a profile.")
    hosts.forget_refusal(request.host)
    await hosts.connection(request.host)
    return SignedIn(request.host)


def _known() -> set[str]:
    named = (listed.profile.ssh for listed in profiles.listing() if listed.profile is not None)
    return {host for ssh in named for host in (*ssh.hosts, *filter(None, (ssh.login,)))}
