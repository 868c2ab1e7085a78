"""Slots of GPUs, with a stand-in for the driver: no machine of these tests has one. Processes are real."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from tests.books import write
from tests.fakes.gpus import Gpus, computing
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
SHOWS = """import os, time
print("sees", os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get("CUDA_DEVICE_ORDER"), flush=True)
while not os.path.exists(until): time.sleep(0.05)"""
CLUSTER = """import os, torch
print(os.environ["CUDA_VISIBLE_DEVICES"], os.environ["CUDA_DEVICE_ORDER"], torch.cuda.chosen)"""
NOBODY = "nobody"


@pytest.fixture(scope="module", autouse=True)
def gpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpus]:
    """Three, also for what tests start; and a home and slots that nobody else has."""
    there = Gpus(tmp_path_factory.mktemp("gpus"), 3)
    variables = f'PYTHONPATH = "{there.folder}"'
    write_profile("gpus", f"[environment]\nvariables = {{ {variables} }}\n")
    write_profile("hidden", f'[environment]\nvariables = {{ {variables}, CUDA_VISIBLE_DEVICES = "" }}\n')
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="dtl") as runtime:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
        # a cluster that did not start stays listed for a while: here, and not for other tests
        patch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        patch.setenv("PYTHONPATH", str(there.folder))
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        patch.setattr("dtrain_lab.api.portal.Portal._instance", None)
        yield there


@pytest.fixture(autouse=True)
def no_job_left() -> Iterator[None]:
    """A test that fails leaves no job behind that would hold slots."""
    yield
    for job in terminal("job", "list"):
        if job["ended_at"] is None:
            terminal("job", "cancel", job["id"])
            job_of(job["id"]).wait(60)


def terminal(*words: str, code: int = 0) -> Any:
    done = subprocess.run(["dtrain-lab", *words, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    if code == 0:
        return json.loads(done.stdout)
    error = json.loads(done.stderr)
    return f"{error['message']} {error['hint']}"


def job_of(identity: str) -> Job:
    """To wait for: each command of a terminal is a process, so it tells once and is not polled."""
    return next(job for job in dt.jobs() if job.id == identity)


def holders() -> list[str | None]:
    """Who holds each GPU, in their order."""
    (node,) = terminal("slots")["nodes"]
    assert [slot["device"] for slot in node["slots"]] == ["cuda:0", "cuda:1", "cuda:2"]
    return [f"{h['kind']} {h['name']}" if (h := slot["held_by"]) else None for slot in node["slots"]]


def test_jobs_and_clusters_get_gpus_that_nobody_has(tmp_path: Path, gpus: Gpus) -> None:
    until = tmp_path / "until"
    book = str(write(tmp_path / "shows.ipynb", [SHOWS.replace("until", repr(str(until)))]))
    first = terminal("submit", book, "--profile", "gpus", "--ranks", "1")["id"]
    wait_until(lambda: job_of(first).info()["state"] == "running", 30, "the first job to run")
    wait_until(lambda: holders()[0] == "job shows", 30, "the first job to have a GPU")
    started = terminal(
        "cluster", "start", "--profile", "gpus", "--nodes", "2", "--ranks-per-node", "1", "--name", "pair"
    )
    try:
        assert holders() == ["job shows", "cluster pair", "cluster pair"]
        run = "import sys, dtrain_lab as dt; print(dt.clusters()[0].run(sys.stdin.read()).stdout)"
        seen = subprocess.run(
            [sys.executable, "-c", run], input=CLUSTER, capture_output=True, text=True, check=True
        )
        shown = [text.split() for text in ast.literal_eval(seen.stdout).values()]
        assert sorted(shown) == [["1", "PCI_BUS_ID", "0"], ["2", "PCI_BUS_ID", "0"]]

        def used() -> list[str]:
            return sorted(str(r["device_utilization"]) for r in terminal("cluster", "show", "pair")["ranks"])

        wait_until(lambda: used() == ["0.2", "0.3"], 20, "their GPUs to be looked at, and not the first ones")
        late = terminal("submit", book, "--profile", "gpus", "--ranks", "1")["id"]
        wait_until(lambda: job_of(late).info()["reason"], 30, "the late job to say why")
        job = terminal("job", "show", late)
        why = "Waits for 1 of 3 slots; no slot is free: job shows holds 1, cluster pair holds 2."
        assert job["reason"]["message"] == why
        held = terminal("slots")["nodes"][0]["slots"][1]["held_by"]
        refused = terminal("slots", "--stop", held["id"], code=1)
        assert "is that of cluster pair. End the cluster instead." in refused
    finally:
        terminal("cluster", "stop", started["id"])
        until.touch()
    for identity in (first, late):
        job_of(identity).wait(30)
        assert terminal("job", "show", identity)["state"] == "succeeded"
    for identity in (first, late):
        shown = ["dtrain-lab", "job", "logs", identity]
        log = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
        assert re.search(r"sees [012] PCI_BUS_ID", log), log  # the late one what was given back first


def test_a_process_of_ones_own_is_named_by_its_notebook_and_stopped(gpus: Gpus) -> None:
    with computing(gpus, 1, JPY_SESSION_NAME="/home/me/prototype.ipynb") as process:
        name = f"{process.name()} (prototype.ipynb)"
        assert holders() == [None, f"foreign {name}", None]
        held = terminal("slots")["nodes"][0]["slots"][1]
        assert (held["held_by"]["pid"], held["memory_bytes"]) == (process.pid, 5 << 30)
        assert held["held_by"]["may_stop"] is True
        terminal("slots", "--stop", held["held_by"]["id"])
        assert process.status() == psutil.STATUS_ZOMBIE, "it was ended; this test is its parent"
    assert "No process" in terminal("slots", "--stop", held["held_by"]["id"], code=3)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to be two users")
def test_a_process_of_somebody_else_is_shown_and_left_alone(gpus: Gpus) -> None:
    with computing(gpus, 2, user=NOBODY) as process:
        held = terminal("slots")["nodes"][0]["slots"][2]["held_by"]
        assert (held["kind"], held["owner"], held["may_stop"]) == ("foreign", NOBODY, False)
        assert f"Process {process.pid} is nobody's. Ask them to end it." in terminal(
            "slots", "--stop", held["id"], code=1
        )
        assert process.is_running()


def test_gpus_that_torch_can_not_use_are_said_so_and_can_be_hidden(gpus: Gpus) -> None:
    hook = gpus.folder / "sitecustomize.py"
    kept = hook.read_text()
    hook.write_text(kept.replace('"stand-in"', "torch.version.hip = None"))  # a build for the processor
    try:
        refused = terminal("cluster", "start", "--profile", "gpus", "--ranks", "2", code=1)
        assert "did not start: torch " in refused
        assert "can't compute on the GPUs of this machine. Install a build of torch with CUDA" in refused
        hidden = terminal("cluster", "start", "--profile", "hidden")
        assert [rank["device"] for rank in hidden["ranks"]] == ["cpu", "cpu"]
        terminal("cluster", "stop", hidden["id"])
    finally:
        hook.write_text(kept)
