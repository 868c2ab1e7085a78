"""What an administrator allows, and how processes below a server hear of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dtrain_lab.errors import BadSize, Forbidden
from dtrain_lab.machine import processes
from dtrain_lab.placement.policy import Uses, applied, check
from dtrain_lab.services.policy import backends, policy
from dtrain_lab.services.policy.limits import uses
from dtrain_lab.wire.jobs.job import JobRequest
from dtrain_lab.wire.processes.settings import Policy, ServerSettings
from dtrain_lab.wire.profile import Network, Profile, Slurm, Ssh
from dtrain_lab.wire.traits import Traits


@pytest.mark.parametrize(
    ("rules", "profile", "part"),
    [
        (Policy(backends=("slurm",)), Profile(), 'does not allow the back-end "local"'),
        (Policy(hosts=("gpu-*",)), Profile(backend="ssh", ssh=Ssh(("gpu-1", "me@db"))), "the host db"),
        (Policy(hosts=()), Profile(backend="slurm", ssh=Ssh(login="l1")), "the host l1"),
        (Policy(options=False), Profile(backend="slurm", slurm=Slurm(options=("-x",))), "options"),
        (Policy(ports="20000-20100"), Profile(network=Network(ports="20050-20200")), "20000-20100 only"),
    ],
)
def test_what_is_not_allowed_is_named(rules: Policy, profile: Profile, part: str) -> None:
    with pytest.raises(Forbidden, match=part) as error:
        check(rules, profile, uses(backends.backend(profile.backend), profile))
    assert error.value.hint


def test_the_options_of_another_scheduler_are_limited_too() -> None:
    with pytest.raises(Forbidden, match="extra options"):
        check(Policy(options=False), Profile(backend="other"), Uses(Traits(schedules=True), (), ("-x",)))
    with pytest.raises(Forbidden, match="the host l1"):
        check(Policy(hosts=("gpu-*",)), Profile(backend="other"), Uses(Traits(schedules=True), ("l1",)))


def test_what_is_allowed() -> None:
    check(Policy(), Profile(backend="ssh"), Uses(Traits(), ("any",)))
    check(Policy(hosts=("gpu-*",)), Profile(backend="ssh"), Uses(Traits(), ("me@gpu-7",)))
    check(Policy(ports="20000-20100"), Profile(network=Network(ports="20010-20090")), Uses(Traits()))


def test_options_of_a_request_are_refused_at_their_field() -> None:
    asked = JobRequest("a.ipynb", options=("-x",))
    with pytest.raises(Forbidden) as error:
        check(Policy(options=False), Profile(backend="slurm"), Uses(Traits()), request=asked)
    assert (error.value.hint, error.value.details["field"]) == ("Leave the options out.", "options")


def test_size_and_environment_are_part_of_the_check() -> None:
    check(Policy(ranks=2, environments=False), Profile(), Uses(Traits()), 2)
    with pytest.raises(BadSize, match="at most 2 ranks; this asks for 3"):
        check(Policy(ranks=2), Profile(), Uses(Traits()), 3)
    with pytest.raises(Forbidden, match="name its environment"):
        check(
            Policy(environments=False),
            Profile(),
            Uses(Traits()),
            1,
            JobRequest("a.ipynb", environment="venv:/tmp"),
        )


def test_this_machine_is_told_by_its_trait() -> None:
    check(Policy(local=False), Profile(), Uses(Traits()))
    with pytest.raises(Forbidden, match="ranks on this machine"):
        check(Policy(local=False), Profile(backend="another"), Uses(Traits(one_machine=True)))


ASK = "from dtrain_lab.services.policy import policy; s = policy.of_server(); print(s.policy.ranks, s.warm)"


def below(**variables: str) -> str:
    """What a process that was started here knows, with a shell between."""
    words = ["bash", "-c", f"{sys.executable} -c '{ASK}'; true"]
    return subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True).stdout


def test_what_a_server_is_told_holds_below_it_and_not_after_it() -> None:
    assert below() == "0 True\n"
    before = dict(os.environ)
    try:
        policy.publish(ServerSettings(Policy(ranks=3)))
        assert below() == "3 True\n"
        policy.publish(ServerSettings(Policy(ranks=2), warm=False))
        assert (below(), policy.current().ranks) == ("2 False\n", 2), "also where it was started before"
        assert policy._file(os.getpid()).stat().st_mode & 0o777 == 0o600
        assert dict(os.environ) == before
    finally:
        policy.forget()
    assert (below(), policy.current()) == ("0 True\n", Policy())


@pytest.mark.parametrize(
    ("site", "variable", "holds"),
    [(None, "", 30.0), (None, "1", 1.0), (120.0, "", 120.0), (120.0, "0.3", 120.0), (120.0, "300", 300.0)],
)
def test_a_users_variable_lowers_no_floor_of_a_site(
    site: float | None, variable: str, holds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DTRAIN_LAB_POLL_FLOOR_S", variable)
    try:
        if site is not None:
            policy.publish(ServerSettings(Policy(poll_floor_s=site)))
        assert backends.backend("slurm").poll_floor_s() == holds
    finally:
        policy.forget()


def test_a_file_of_a_server_that_is_gone_says_nothing() -> None:
    policy.publish(ServerSettings(Policy(ranks=3)))
    file = policy._file(os.getpid())
    kept = file.read_bytes().replace(b'"started":', b'"started":1')  # another process had this number then
    policy.forget()
    file.write_bytes(kept)
    assert below() == "0 True\n"
    assert not file.exists()


def test_the_limits_of_a_server_on_another_host_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:  # of a container that shares this home, and has this number
        elsewhere.setattr(processes, "system", lambda: "another")
        policy.publish(ServerSettings(Policy(ranks=3)))
        file = policy._file(os.getpid())
        policy._own.clear()
    try:
        assert below() == "0 True\n"
        assert file.exists()
    finally:
        file.unlink()


def test_limits_that_can_t_be_read_are_not_taken_for_none() -> None:
    file = policy._file(os.getppid())
    file.write_bytes(b"{")
    try:
        with pytest.raises(Forbidden, match="can't be read"):
            policy.current()
    finally:
        file.unlink()


def test_a_profile_without_ports_has_the_administrators() -> None:
    rules = Policy(ports="20000-20100")
    assert applied(rules, Profile()).network.ports == "20000-20100"
    own = Profile(network=Network(ports="20010-20020"))
    assert applied(rules, own) == own
