"""A host that asks for a second factor: who is asked, and what becomes of the answer."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.api.portal import Portal
from dtrain_lab.backends.hosts import signin as backends_signin
from dtrain_lab.backends.hosts import ssh_connections
from dtrain_lab.errors import NotFound, SignInNeeded
from dtrain_lab.services.profiles import signin
from dtrain_lab.wire.site import SignIn
from tests.fakes.second_factor_host import CODE, Guarded, second_factor_host
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    """The host of the profile `guarded`."""
    with second_factor_host(tmp_path) as host:
        (tmp_path / ".ssh").mkdir()
        (tmp_path / ".ssh" / "config").write_text(host.entry)
        monkeypatch.setenv("HOME", str(tmp_path))
        write_profile("guarded", 'backend = "ssh"\n[ssh]\nhosts = ["guarded"]\n')
        yield host


def ask(**request: Any) -> str:
    return Portal.get().call(signin.sign_in(SignIn(**request))).host


def test_without_a_person_the_questions_are_told_and_the_answer_goes_on(guarded: Guarded) -> None:
    with pytest.raises(SignInNeeded, match=r"guarded asks: One-time code\.") as refused:
        dt.start("guarded", ranks=1)
    asked = refused.value.details
    assert refused.value.code == "sign_in"
    assert asked["instructions"] == "From your telephone."
    assert list(asked["questions"]) == [{"text": "One-time code:", "hidden": True}]
    with pytest.raises(SignInNeeded) as again:
        ask(id=asked["id"], answers=("wrong",))
    assert again.value.code == "sign_in", "it asks once more"
    assert ask(id=again.value.details["id"], answers=(CODE,)) == "guarded"
    assert guarded.answers == ["wrong", CODE]
    with dt.start("guarded", ranks=1) as cluster:
        assert cluster.run("print('in')").stdout == {0: "in\n"}
    assert guarded.answers == ["wrong", CODE], "one sign-in for all"
    with pytest.raises(NotFound, match="nothing waits"):
        ask(id=asked["id"], answers=(CODE,))


def test_who_gives_no_right_answer_is_refused_and_not_asked_by_itself(guarded: Guarded) -> None:
    request: dict[str, Any] = {"host": "guarded"}
    for _ in range(3):
        with pytest.raises(SignInNeeded) as refused:
            ask(**request)
        assert refused.value.code == "sign_in"
        request = {"id": refused.value.details["id"], "answers": ("wrong",)}
    with pytest.raises(SignInNeeded, match="refused the sign-in"):
        ask(**request)
    assert guarded.answers == ["wrong"] * 3
    with pytest.raises(NotFound, match="No profile names"):
        ask(host="elsewhere")


def test_a_question_that_nobody_answers_is_not_asked_again_by_itself(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(backends_signin, "ANSWER_WITHIN_S", 0.2)
        with pytest.raises(SignInNeeded) as asked:
            ask(host="guarded")
        assert asked.value.code == "sign_in"
        wait_until(lambda: "guarded" in ssh_connections._refused, 20, "the end of the attempt")
    for _ in range(2):
        with pytest.raises(SignInNeeded, match="got no answer") as left:
            Portal.get().call(ssh_connections.connection("guarded"))
        assert left.value.code != "sign_in"
    assert guarded.answers == []
    with pytest.raises(SignInNeeded) as again:
        ask(host="guarded")
    assert ask(id=again.value.details["id"], answers=(CODE,)) == "guarded"


def test_at_a_terminal_the_person_is_asked_and_the_answer_is_not_shown(guarded: Guarded) -> None:
    main, side = pty.openpty()
    words = [sys.executable, "-m", "dtrain_lab", "slots", "--profile", "guarded", "--json"]
    with subprocess.Popen(
        words, stdin=side, stdout=subprocess.PIPE, stderr=side, start_new_session=True, text=True
    ) as process:
        os.close(side)
        seen = ""
        while "One-time code:" not in seen:
            seen += os.read(main, 4096).decode()
        os.write(main, f"{CODE}\n".encode())
        assert process.stdout is not None
        out = process.stdout.read()
        assert process.wait(30) == 0
    os.close(main)
    assert guarded.answers == [CODE]
    assert json.loads(out)["nodes"], "nothing but JSON"
    assert CODE not in out + seen


def test_a_host_whose_key_is_not_checked_gets_no_answer_of_a_person(guarded: Guarded) -> None:
    config = Path(os.environ["HOME"]) / ".ssh" / "config"
    unchecked = re.sub(r"UserKnownHostsFile .*", "UserKnownHostsFile none", config.read_text())
    config.write_text(unchecked)
    with pytest.raises(SignInNeeded, match="UserKnownHostsFile none") as refused:
        dt.start("guarded", ranks=1)
    assert refused.value.code == "host_key"
    assert guarded.answers == []
