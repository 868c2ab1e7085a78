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
from dtrain_lab.errors import Conflict, Unreachable
from tests.books import looping
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


def in_loop(job: Job) -> bool:
    """Its ranks run the notebook's last cell; at first its head is not there yet."""
    try:
        return "[3]" in str(job.stacks())
    except (Conflict, Unreachable):
        assert job.state in ("queued", "starting", "running"), job.logs()
        return False


def look_around(job: Job) -> None:
    """Pause a job in its loop, stop at a breakpoint, step, look; and let it go."""
    wait_until(partial(in_loop, job), 60, "the loop")
    with job.debug() as debugger:
        debugger.pause()
        debugger.wait(30, [0, 1])
        debugger.set_breakpoint("[1]", 5, condition="i > 3")
        debugger.go()
        debugger.wait(30, [0, 1])
        assert [r.place.line for r in debugger.state.ranks if r.place is not None] == [5, 5]
        assert [str(frame) for frame in debugger.stack(1)] == [
            "cell [1]:5, in step",
            "cell [3]:4, in <module>",
        ]
        assert debugger.across("x").groups[1].max_abs == 1.0
        debugger.step()
        debugger.wait(30, [0, 1])
        assert debugger.evaluate("y.tolist()", 0) == "[2.0, 2.0]"
        with pytest.raises(Conflict, match="is debugging these ranks"):
            job.debug()


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
