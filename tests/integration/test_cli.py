"""The terminal, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dtrain_lab.services import folders

pytestmark = pytest.mark.processes


def cli(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "dtrain_lab", *arguments], capture_output=True, text=True, timeout=90
    )
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done


def as_json(*arguments: str) -> Any:
    return json.loads(cli(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def term() -> Iterator[dict[str, Any]]:
    yield as_json("cluster", "start", "--ranks", "2", "--name", "term")
    cli("cluster", "stop", "term")


def test_start_lives_on_after_the_command_and_is_listed(term: dict[str, Any]) -> None:
    assert (term["state"], term["world"]["size"]) == ("ready", 2)
    assert [c["name"] for c in as_json("cluster", "list")] == ["term"]
    assert as_json("cluster", "show", "term")["id"] == term["id"]
    assert "Ready. 2 ranks wait for a cell." in cli("cluster", "show", "term").stdout


def test_actions(term: dict[str, Any]) -> None:
    assert as_json("cluster", "interrupt", "term")["state"] == "ready"
    before = {r["rank"]: r["pid"] for r in term["ranks"]}
    after = {r["rank"]: r["pid"] for r in as_json("cluster", "restart", "term", "--ranks", "1")["ranks"]}
    assert (after[0] == before[0], after[1] == before[1]) == (True, False)
    assert [s["rank"] for s in as_json("cluster", "stacks", "term")] == [0, 1]
    assert as_json("cluster", "advise", "term") == []


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("cluster", "show", "nope"), 3, 'There is no cluster "nope". Running: term.'),
        (("cluster", "start", "--ranks", "0"), 2, "at least one rank"),
        (("cluster", "start", "--name", "term"), 4, 'A cluster "term" is running.'),
        (("cluster", "start", "--profile", "nope"), 3, 'There is no profile "nope".'),
        (("cluster", "restart", "term", "--ranks", "5"), 2, "There is no rank 5"),
    ],
)
def test_errors_are_one_line_with_a_hint_and_an_exit_code(
    term: dict[str, Any], arguments: tuple[str, ...], code: int, part: str
) -> None:
    done = cli(*arguments, code=code)
    assert part in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_bad_profile_is_listed_with_line_and_nearest_key() -> None:
    folder = folders.profiles()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "broken.toml"
    path.write_text('backend = "local"\nranks_per_nod = 4\n')
    try:
        listed = {p["name"]: p for p in as_json("profile", "list")}
        assert listed["local"]["error"] is None
        assert "line 2" in listed["broken"]["error"]["message"]
        done = cli("profile", "check", "broken", code=2)
        assert 'Did you mean "ranks_per_node"?' in done.stderr
    finally:
        path.unlink()


def test_a_machine_without_a_scheduler_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folders.profiles()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hpc.toml"
    path.write_text('backend = "slurm"\n')
    try:
        monkeypatch.setenv("PATH", str(tmp_path))
        said = cli("cluster", "start", "--profile", "hpc", code=3).stderr
        assert said.startswith("dtrain-lab: This machine has no command sinfo. Set [ssh] login")
        assert said.count("\n") == 1
        (tmp_path / "sinfo").write_text("#!/bin/sh\necho 'sinfo: error: down' >&2\nexit 1\n")
        (tmp_path / "sinfo").chmod(0o755)
        said = cli("cluster", "start", "--profile", "hpc", code=1).stderr
        assert said == "dtrain-lab: Slurm does not answer: down. Is the scheduler up?\n"
    finally:
        path.unlink()


def test_profile_check_and_doctor() -> None:
    assert as_json("profile", "check", "local")["ranks"] == 2
    report = as_json("doctor")
    assert report["packages"]["torch"]
    assert report["ok"]


def test_doctor_tries_the_real_parts() -> None:
    report = as_json("doctor", "--run")
    assert [step["step"] for step in report["trial"] if not step["ok"]] == []
    assert len(report["trial"]) == 8
