"""The debugger on a running job of two nodes: pause, breakpoints, values, detach; the job goes on."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.errors import Conflict
from tests.books import looping
from tests.integration.debugger.job_debugging import in_loop, look_around
from tests.integration.jobs.local_jobs import of_job
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with tempfile.TemporaryDirectory(prefix="dtl") as runtime:
        monkeypatch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
        book = looping(tmp_path / "loop.ipynb", str(tmp_path / "stop"))
        made: Job = dt.submit(book, nodes=2, ranks_per_node=1)
        wait_until(lambda: made.state == "running", 60, "the job to run")
        yield made
        made.cancel()
        made.wait(60)


def test_a_running_job_is_paused_looked_at_and_goes_on(job: Job, tmp_path: Path) -> None:
    look_around(job)
    (tmp_path / "stop").touch()
    assert job.wait(60) == "succeeded", job.logs()
    assert "[0] total 4.0" in job.logs()
    assert "frozen modules" not in job.logs(), "what pydevd says as it comes is not the job's"
    with pytest.raises(Conflict, match="is not running"):
        job.debug()


def test_the_text_debugger_in_a_terminal(job: Job) -> None:
    wait_until(partial(in_loop, job), 60, "the loop")
    commands = "break [1]:4 if rank == 1\nclear\npause\nranks\nrank 1\nall rank\nnonsense\nnext\nquit\n"
    done = subprocess.run(
        ["dtrain-lab", "debug", job.name],
        input=commands,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Paused on 2 ranks." in done.stdout
    assert "[1]:4 if rank == 1" in done.stdout
    assert "0 to 1" in done.stdout
    assert 'Unknown: "nonsense"' in done.stdout
    assert job.state == "running", "it goes on"
    nobody = subprocess.run(
        ["dtrain-lab", "debug", "nobody"], capture_output=True, text=True, check=False, timeout=60
    )
    assert nobody.returncode != 0
    assert 'There is no cluster and no job "nobody".' in nobody.stderr


def test_the_end_of_a_job_ends_its_debugger(job: Job) -> None:
    wait_until(partial(in_loop, job), 60, "the loop")
    debugger = job.debug()
    assert debugger.state.code != "ended"
    job.cancel()
    wait_until(lambda: debugger.state.code == "ended", 60, "the debugger to see the end")
    assert debugger.state.sentence == "The job has ended."
    assert {(rank.phase, rank.place) for rank in debugger.state.ranks} == {("gone", None)}
    assert debugger.state.notes == (), "what held a rank holds none any more"


def test_ranks_that_are_paused_go_on_when_the_head_is_killed(job: Job, tmp_path: Path) -> None:
    wait_until(partial(in_loop, job), 60, "the loop")
    debugger = job.debug()
    debugger.pause()
    debugger.wait(30, [0, 1])
    for process in of_job(job.id):
        if "dtrain_lab.head" in process.cmdline():
            process.kill()
    wait_until(lambda: debugger.state.code == "ended", 60, "the debugger to see the end")
    assert debugger.state.sentence == "The job goes on, but its head has ended."
    (tmp_path / "stop").touch()
    assert job.wait(60) == "succeeded", job.logs()
