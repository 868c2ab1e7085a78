"""The terminal, as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.machine import processes
from dtrain_lab.services import paths
from dtrain_lab.services.worlds import heads
from tests.waiting import wait_until

pytestmark = pytest.mark.processes


def cli(*arguments: str, code: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "dtrain_lab", *arguments],
        capture_output=True,
        text=True,
        timeout=90,
        env={**os.environ, **variables},
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
        (
            ("cluster", "start", "--name", "term", "--ranks", "3"),
            4,
            "It has 2 ranks; the new one would have 3. Choose another name, or stop it: "
            "dtrain-lab cluster stop term",
        ),
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


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_letters_shows_the_rest(term: dict[str, Any], encoding: str) -> None:
    shown = cli("cluster", "show", "term", PYTHONIOENCODING=encoding).stdout
    assert "Ready. 2 ranks wait for a cell." in shown
    assert "?" in shown
    assert json.loads(cli("cluster", "show", "term", "--json", PYTHONIOENCODING=encoding).stdout)["id"]


def test_folders_that_cant_be_used_are_told_in_one_line() -> None:
    for arguments in (("cluster", "list"), ("slots",), ("cluster", "start"), ("cluster", "show", "x")):
        said = cli(*arguments, code=1, JUPYTER_RUNTIME_DIR="/dev/null/run").stderr
        assert said.startswith("dtrain-lab: /dev/null/run: Not a directory."), said
        assert said.count("\n") == 1
    said = cli("sweep", "list", "--json", code=1, JUPYTER_DATA_DIR="/dev/null/data").stderr
    assert json.loads(said)["code"] == "no_file"


def test_a_process_that_ends_with_a_monitor_says_nothing(term: dict[str, Any]) -> None:
    code = "from dtrain_lab.api.start import connect\nmonitor = connect('term').monitor()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_debugger_at_the_terminal_survives_what_is_typed(term: dict[str, Any]) -> None:
    command = [sys.executable, "-m", "dtrain_lab", "debug", "term", "--no-pause"]
    typed = 'rank "\nrank \u00b2\nranks\nquit\n'
    done = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("is not a number") == 2


def test_an_adapter_to_which_nobody_can_speak_says_so() -> None:
    command = [sys.executable, "-m", "dtrain_lab", "debug", "--stdio"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "communicate through pipes" in done.stderr


HELD = """import os, sys, time
if "dtrain_lab.node.forkserver" in sys.orig_argv:
    open({reached!r}, "w").close()
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.05)
"""
"""A `sitecustomize` with which a fork server loads nothing, so that no rank starts."""


def test_a_start_that_is_interrupted_leaves_no_cluster(tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    (tmp_path / "sitecustomize.py").write_text(HELD.format(reached=str(reached)))
    found = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    start = [sys.executable, "-m", "dtrain_lab", "cluster", "start", "--ranks", "1", "--name", "never"]
    try:
        with subprocess.Popen(
            start,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": found},
        ) as process:
            wait_until(reached.exists, 60, "its fork server")
            process.send_signal(signal.SIGINT)
            told = process.communicate(timeout=60)[1]
        assert process.returncode != 0
        assert "Aborted!" in told
        assert not [c for c in as_json("cluster", "list") if c["name"] == "never"]
    finally:
        for left in dt.clusters():
            if left.name == "never":
                left.stop()


def test_a_head_that_hangs_is_stopped_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "STOP_ANSWER_S", 0.5)
    cluster = dt.start(ranks=1, name="hangs")
    record = cluster._connection.record
    (rank,) = [r.pid for r in cluster.snapshot().ranks]
    os.kill(record.pid, signal.SIGSTOP)
    cluster.stop()
    assert processes.same(record.pid, record.started) is None
    wait_until(lambda: not Path(f"/proc/{rank}").exists(), 10, "the end of its rank")


def test_a_bad_profile_is_listed_with_line_and_nearest_key() -> None:
    folder = paths.profiles()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "broken.toml"
    path.write_text('backend = "local"\nranks_per_nod = 4\n')
    try:
        listed = {p["name"]: p for p in as_json("profile", "list")}
        assert listed["local"]["error"] is None
        assert "line 2" in listed["broken"]["error"]["message"]
        done = cli("profile", "check", "broken", code=2)
        assert "Did you mean ranks_per_node?" in done.stderr
    finally:
        path.unlink()


def test_a_machine_without_a_scheduler_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = paths.profiles()
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


def test_doctor_reports_a_folder_that_cant_be_used(tmp_path: Path) -> None:
    file = tmp_path / "home"
    file.touch()
    told = cli("doctor", "--json", code=1, HOME=str(file), JUPYTER_RUNTIME_DIR=str(file / "runtime")).stdout
    report = json.loads(told)
    assert report["packages"]["torch"], "what can be checked is checked"
    [problem] = report["problems"]
    assert problem.startswith(f"the folder of records: {file}")
    assert "JUPYTER_RUNTIME_DIR" in problem


def test_doctor_tries_the_real_parts() -> None:
    report = as_json("doctor", "--run")
    assert [step["step"] for step in report["trial"] if not step["ok"]] == []
    assert len(report["trial"]) == 8
