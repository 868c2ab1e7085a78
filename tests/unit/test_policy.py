"""What an administrator allows: pure."""

from __future__ import annotations

import pytest

from dtrain_lab.core.policy import Policy, check
from dtrain_lab.core.profile import Network, Profile, Slurm, Ssh
from dtrain_lab.errors import Forbidden


@pytest.mark.parametrize(
    ("policy", "profile", "part"),
    [
        (Policy(backends=("slurm",)), Profile(), 'does not allow the back-end "local"'),
        (Policy(hosts=("gpu-*",)), Profile(backend="ssh", ssh=Ssh(("gpu-1", "me@db"))), "the host db"),
        (Policy(hosts=()), Profile(backend="slurm", ssh=Ssh(login="l1")), "the host l1"),
        (Policy(options=False), Profile(backend="slurm", slurm=Slurm(options=("-x",))), "options"),
        (Policy(ports="20000-20100"), Profile(network=Network(ports="20050-20200")), "20000-20100 only"),
    ],
)
def test_what_is_not_allowed_is_named(policy: Policy, profile: Profile, part: str) -> None:
    with pytest.raises(Forbidden, match=part) as error:
        check(policy, profile)
    assert error.value.hint


def test_what_is_allowed() -> None:
    check(Policy(), Profile(backend="ssh", ssh=Ssh(("any",))))
    check(Policy(hosts=("gpu-*",)), Profile(backend="ssh", ssh=Ssh(("me@gpu-7",))))
    check(Policy(ports="20000-20100"), Profile(network=Network(ports="20010-20090")))
