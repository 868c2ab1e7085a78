"""Sweeps of real local jobs: from Python, terminal and REST, with drivers that are killed, and bad input."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

import dtrain_lab as dt
from dtrain_lab.errors import BadNotebook, BadRequest, BadSize, Conflict, NotFound
from dtrain_lab.machine import processes
from dtrain_lab.node.forkserver import trials
from dtrain_lab.node.sources.spawned_rank import SpawnedRank, exit_code
from dtrain_lab.services.index import sweep_names
from dtrain_lab.services.sweeps import folder as folders
from dtrain_lab.services.sweeps.trial import trial_request
from dtrain_lab.wire.sweeps import SweepRequest
from tests.books import write
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]

PARAMETERS = "lr = 0.1\nsteps = 3\npause = 0.0"
WORK = """import time
import dtrain_lab as dt
latest = dt.latest_checkpoint()
first = latest.step if latest is not None else 0
print("from", first, "lr", lr)
for step in range(first, steps):
    dt.log(step, loss=lr + 1 / (step + 1), other=lr)
    with dt.checkpoint(step + 1) as folder:
        (folder / "lr.txt").write_text(str(lr))
    time.sleep(pause)"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Profiles, jobs, sweeps and slots of its own, none of which is left."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    with tempfile.TemporaryDirectory(prefix="dtl") as runtime:
        monkeypatch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
        monkeypatch.setattr("dtrain_lab.api.portal.Portal._instance", None)
        yield
        for one in dt.sweeps():
            if one.state == "running":
                one.stop()
            one.wait(60)


def book(tmp_path: Path) -> Path:
    return write(tmp_path / "book" / "train.ipynb", [(PARAMETERS, "parameters"), WORK])


def driver_of(sweep: str) -> psutil.Process | None:
    """The driver of the sweep with an id."""
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if "dtrain_lab.services.sweeps" in words and any(sweep in word for word in words):
            return process
    return None


def trials_with_jobs(sweep: dt.Sweep) -> int:
    record = folders.read(sweep_names.base() / sweep.id)
    return sum(trial.seen for trial in record.trials)


def test_a_sweep_whose_driver_is_killed_ends_each_trial_once(tmp_path: Path) -> None:
    file = book(tmp_path)
    sweep = dt.sweep(
        file, {"lr": [0.4, 0.1, 0.3, 0.2]}, "loss", sampler="grid", parallel=2, parameters={"pause": 0.5}
    )
    file.unlink()  # all trials run the notebook as it was
    wait_until(lambda: trials_with_jobs(sweep) >= 1, 60, "a first trial")
    driver = driver_of(sweep.id)
    assert driver is not None
    driver.kill()
    driver.wait(10)
    most = 0

    def look(info: Any) -> None:
        nonlocal most
        most = max(most, sum(trial.state == "running" for trial in info.trials))

    assert sweep.wait(150, look) == "succeeded", sweep.info()
    trials = sweep.trials()
    assert [trial["state"] for trial in trials] == ["succeeded"] * 4
    assert [trial["parameters"]["lr"] for trial in trials] == [0.4, 0.1, 0.3, 0.2]
    assert most == 2
    assert sorted(job.id for job in dt.jobs()) == sorted(trial["job"] for trial in trials), "none ran twice"
    best = sweep.best()
    assert best is not None
    assert (best["number"], round(best["value"], 3), best["checkpoint_step"]) == (1, 0.433, 3)
    assert sweep.snapshot().summary.text == "4 of 4 trials done; best loss 0.4333 in trial 1."
    with pytest.raises(Conflict, match=r"All trials of train have run\."):
        sweep.resume()
    wait_until(lambda: driver_of(sweep.id) is None, 20, "the driver's end")


CAREFUL = """import math, time
import dtrain_lab as dt
for step in range(steps):
    dt.log(step, loss=math.nan if lr < 0 and step == steps - 1 else abs(lr) + 1 / (step + 1))
    with dt.checkpoint(step + 1) as folder:
        (folder / "lr.txt").write_text(str(lr))
    time.sleep(pause)"""


def test_a_bad_trial_is_stopped_at_a_rung_with_its_checkpoint_and_one_that_ends_in_nan_fails(
    tmp_path: Path,
) -> None:
    file = write(tmp_path / "book" / "train.ipynb", [(PARAMETERS, "parameters"), CAREFUL])
    sweep = dt.sweep(
        file, {"lr": [0.1, 5.0, -0.05]}, "loss", sampler="grid", pruner="asha", parallel=1,
        parameters={"steps": 60, "pause": 0.03},
    )  # fmt: skip
    assert sweep.wait(150) == "succeeded", sweep.info()
    good, bad, nan = sweep.trials()
    assert (good["state"], good["step"]) == ("succeeded", 59)
    assert bad["state"] == "pruned", bad
    assert "not among the best third of 2 trials there." in bad["reason"]["text"]
    assert 1 <= bad["checkpoint_step"] < 60
    job = next(job for job in dt.jobs() if job.id == bad["job"])
    assert job.info()["summary"]["text"].startswith("Stopped early by its sweep after ")
    kept = Path(job.info()["directory"], "checkpoints", f"step-{bad['checkpoint_step']}")
    assert (kept / "lr.txt").read_text() == "5.0"
    assert (nan["state"], nan["reason"]["text"]) == ("failed", "The last loss is nan, at step 59.")
    best = sweep.best()
    assert best is not None
    assert best["number"] == 0


def terminal(*words: str, code: int = 0) -> Any:
    done = subprocess.run(["dtrain-lab", *words, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout if code == 0 else done.stderr)


def test_a_dry_run_tells_all_that_is_refused_and_begins_nothing(tmp_path: Path) -> None:
    words = ["dtrain-lab", "sweep", "run", str(book(tmp_path)), "--param", "lr=0.1,0.2", "--sampler", "grid"]
    words += ["--dry-run", "--objective"]

    def told(*more: str) -> tuple[int, str]:
        done = subprocess.run([*words, *more], capture_output=True, text=True, check=False)
        assert not done.stderr
        return done.returncode, done.stdout

    code, text = told("accuracy", "--trials", "0", "--json")
    plan = json.loads(text)
    problems = [finding for finding in plan["findings"] if finding["severity"] == "problem"]
    assert (code, [finding["field"] for finding in problems]) == (2, ["trials", "objective"])
    assert problems[0]["message"] == "trials is 0; it must be 1 to 10000."
    code, text = told("loss")
    assert (code, text.splitlines()[-1]) == (0, "The sweep can start.")
    assert list(sweep_names.base().iterdir()) == []
    assert dt.jobs() == []


def test_a_sweep_is_stopped_and_resumed_from_the_terminal(tmp_path: Path) -> None:
    go = tmp_path / "go"
    held = f"    while step == 2 and not __import__('os').path.exists({str(go)!r}):\n        time.sleep(0.05)"
    file = write(tmp_path / "held" / "train.ipynb", [(PARAMETERS, "parameters"), f"{WORK}\n{held}"])
    words = ("--param", "lr=loguniform(1e-3, 1e-1)", "--param", "steps=12")
    made = terminal(
        "sweep", "run", str(file), *words, "--objective", "loss", "--trials", "2",
        "--parallel", "1", "--sampler", "random", "--name", "search",
    )  # fmt: skip
    assert (made["total"], made["parallel"], made["state"]) == (2, 1, "running")

    # each command is a process: it tells once, it is not polled
    wait_until(lambda: (t := dt.sweeps()[0].trials()) and t[0]["checkpoint_step"], 60, "a checkpoint")
    assert terminal("sweep", "trials", "search")[0]["checkpoint_step"]
    stopped = terminal("sweep", "stop", made["id"])
    assert (stopped["state"], stopped["may"]) == ("stopped", ["resume", "delete"])
    assert stopped["trials"][0]["state"] == "stopped"
    again = terminal("sweep", "stop", "search")
    assert (again["state"], again["trials"]) == ("stopped", stopped["trials"]), "it stays as it is"
    job = next(job for job in dt.jobs() if job.id == stopped["trials"][0]["job"])
    assert job.info()["summary"]["text"].startswith("Stopped with its sweep after ")
    go.touch()  # the first trial could not end before it was stopped, however slow the commands are
    assert terminal("sweep", "resume", "search")["state"] == "running"
    dt.sweeps()[0].wait(120)
    shown = terminal("sweep", "show", "search")
    assert [trial["state"] for trial in shown["trials"]] == ["succeeded", "succeeded"]
    assert shown["trials"][0]["resumes"] == 1
    job = next(job for job in dt.jobs() if job.id == shown["trials"][0]["job"])
    assert "from 0" not in job.logs(), "it goes on from its checkpoint"
    assert terminal("sweep", "list")[0]["id"] == made["id"]
    assert terminal("sweep", "show", "nothing", code=3)["code"] == "no_sweep"


def test_a_killed_trial_goes_on_and_an_unknown_objective_ends_the_sweep(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unread = WORK.replace("other=lr)", "**dict(other=lr))")
    file = write(tmp_path / "other" / "train.ipynb", [(PARAMETERS, "parameters"), unread])
    sweep = dt.sweep(file, {"lr": [0.1]}, "accuracy", parallel=1)
    assert "dtrain-lab: warning: cell [2], line 7: No call of dt.log with" in capfd.readouterr().err
    assert sweep.wait(60) == "failed"
    reason = sweep.info()["reason"]
    assert reason["message"] == 'Trial 0: "accuracy" was never reported; the trial reported loss, other.'
    sweep = dt.sweep(book(tmp_path), {"lr": [0.1]}, "loss", parameters={"steps": 16, "pause": 0.5})
    wait_until(lambda: (t := sweep.trials()) and t[0]["checkpoint_step"], 60, "a checkpoint")

    def rank() -> Any:
        job = next(job for job in dt.jobs() if job.id == sweep.trials()[0]["job"])
        return job.info()["ranks"][0]["pid"]

    folder = next(job for job in dt.jobs() if job.id == sweep.trials()[0]["job"]).info()["directory"]
    agents = [
        p for p in psutil.process_iter(["cmdline"]) if {"ranks", folder} <= {*(p.info["cmdline"] or ())}
    ]
    assert len(agents) == 1
    agents[0].kill()
    wait_until(lambda: sweep.trials()[0]["state"] == "resumed", 30, "it to go on")
    os.kill(wait_until(rank, 20, "the next rank's process"), 9)
    assert sweep.wait(120) == "succeeded", sweep.info()
    assert sweep.trials()[0]["resumes"] == 2


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"space": {}}, BadRequest, "The search space is empty: nothing would vary."),
        (
            {"space": {"lr": [1, "x"]}},
            BadRequest,
            "The values of lr are of mixed types: x is not a number.",
        ),
        (
            {"space": {"lrr": [1, 2]}},
            BadNotebook,
            "The notebook has no parameter lrr, and none of its cells reads that name. Did you mean lr?",
        ),
        (
            {"sampler": "grid", "space": {"lr": dt.uniform(0, 1)}},
            BadRequest,
            "A grid needs a list of values for lr",
        ),
        ({"parameters": {"lr": 1}}, BadRequest, "lr is both fixed and varied."),
        (
            {"objective": "a b"},
            BadRequest,
            'The objective "a b" is not a name that dt.log takes',
        ),
        (
            {"objective": "accuracy"},
            BadNotebook,
            'Cell [2], line 7: No trial would report "accuracy": dt.log is called with loss, other.',
        ),
        ({"trials": 0}, BadRequest, "trials is 0; it must be 1 to 10000."),
        ({"ranks_per_node": 10_000}, BadSize, "10,000 ranks are too many for this machine"),
        ({"objective": "step"}, BadRequest, 'The objective "step" is not a name that dt.log takes'),
        ({"name": "a" * 60}, BadRequest, "The name is too long. Use up to 50 letters."),
        ({"notebook": "gone.ipynb"}, NotFound, "There is no notebook"),
    ],
)
def test_bad_input_is_refused_in_a_sentence_before_anything_runs(
    change: dict[str, Any], kind: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dtrain_lab.placement.capacity.SLOTS_PER_CORE", 1 if "ranks_per_node" in change else 8
    )
    asked: dict[str, Any] = {"notebook": book(tmp_path), "space": {"lr": [0.1, 0.2]}, "objective": "loss"}
    with pytest.raises(kind) as error:
        dt.sweep(**{**asked, **change})
    assert said in str(error.value)
    assert dt.sweeps() == []
    assert dt.jobs() == []


def test_a_notebook_without_parameters_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "plain.ipynb", [PARAMETERS, WORK])
    with pytest.raises(BadNotebook, match=r"has no cell tagged .parameters., so a sweep has nothing to vary"):
        dt.sweep(file, {"lr": [0.1, 0.2]}, "loss")


def test_a_second_sweep_of_a_notebook_has_a_name_of_its_own(tmp_path: Path) -> None:
    file = book(tmp_path)
    first = dt.sweep(file, {"lr": [0.1]}, "loss", parameters={"pause": 5})
    second = dt.sweep(file, {"lr": [0.1]}, "loss", parameters={"pause": 5})
    assert (first.name, second.name) == ("train", "train-2")
    with pytest.raises(Conflict, match=r"A sweep .train. already exists"):
        dt.sweep(file, {"lr": [0.1]}, "loss", name="train")
    assert first.snapshot().total == 1
    second.stop()
    assert second.state == "stopped", "it waits for the end of the trials"
    first.stop(wait=False)
    second.stop()
    assert second.state == "stopped", "to stop an ended one changes nothing"


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"dtrain_lab": True}}}


async def test_a_server_drives_what_it_finds_and_answers_over_rest(
    jp_fetch: Any, jp_serverapp: Any, jp_root_dir: Path
) -> None:
    write(jp_root_dir / "train.ipynb", [(PARAMETERS, "parameters"), WORK])

    async def rest(method: str, path: str, body: Any = None) -> Any:
        sent = None if method == "GET" else json.dumps(body if body is not None else {})
        return json.loads((await jp_fetch("dtrain-lab", *path.split("/"), method=method, body=sent)).body)

    # an interpreter from a browser would run anything: it is not listened to
    body = {"notebook": "train.ipynb", "space": {"lr": [0.2, 0.1]}, "objective": "loss", "sampler": "grid",
            "nodes": 1, "ranks_per_node": 1, "parallel": 1, "python": "/bin/false"}  # fmt: skip
    made = await rest("POST", "sweeps", body)
    # its command line is that of this process until it begins
    driver = await asyncio.to_thread(wait_until, lambda: driver_of(made["id"]), 20, "the driver")
    assert driver is not None
    driver.kill()
    driver.wait(10)
    assert (await rest("GET", f"sweeps/{made['id']}"))["state"] == "running"
    assert driver_of(made["id"]) is None, "a GET starts nothing"
    jp_serverapp.web_app.settings["dtrain_lab"].begin_work()
    until = time.monotonic() + 100
    while (found := await rest("GET", f"sweeps/{made['id']}"))["state"] == "running":
        assert time.monotonic() < until, found
        await asyncio.sleep(0.2)
    assert found["state"] == "succeeded", found
    assert found["best"]["parameters"] == {"lr": 0.1}
    assert found["importance"]["missing"]["code"] == "one_parameter"
    assert [t["number"] for t in await rest("GET", f"sweeps/{made['id']}/trials")] == [0, 1]
    listed = (await rest("GET", "sweeps"))[0]
    assert (listed["id"], listed["importance"]) == (made["id"], None)
    deleted = await jp_fetch("dtrain-lab", "sweeps", made["id"], method="DELETE")
    assert json.loads(deleted.body)["may"] == []
    assert (await rest("GET", "sweeps"), await rest("GET", "jobs")) == ([], [])
    assert not Path(made["directory"]).exists()


TOGETHER = """import os, time
import torch
import torch.distributed as dist
import dtrain_lab as dt
print("parent", " ".join(open(f"/proc/{os.getppid()}/cmdline").read().split("\\0")[3:5]))
both = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(both)
time.sleep(pause)
dt.log(1, loss=lr * both.item())"""


def test_trials_of_two_ranks_survive_the_server_and_the_next_ones_start_warm(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work / "train.ipynb", [(PARAMETERS, "parameters"), TOGETHER])
    body = {
        "notebook": "train.ipynb", "space": {"lr": [0.2, 0.1, 0.3]}, "objective": "loss", "sampler": "grid",
        "ranks_per_node": 2, "parallel": 1, "parameters": {"pause": 1.5},
    }  # fmt: skip
    with killed_server(work) as ask:
        made = ask("POST", "sweeps", body)
        sweep = next(one for one in dt.sweeps() if one.id == made["id"])
        wait_until(lambda: trials_with_jobs(sweep) >= 1, 60, "a first trial")
    assert sweep.wait(150) == "succeeded", sweep.info()
    trials = sweep.trials()
    assert [round(trial["value"], 3) for trial in trials] == [0.6, 0.3, 0.9]
    jobs = {job.id: job for job in dt.jobs()}
    assert sorted(jobs) == sorted(trial["job"] for trial in trials), "each ran once"
    assert {job.info()["sweep"] for job in jobs.values()} == {sweep.id}
    parents = [
        jobs[trial["job"]].logs().count("parent dtrain_lab.node.forkserver listen") for trial in trials
    ]
    assert parents[0] == 0
    assert parents[2] == 2, "both ranks were forked"
    for trial in trials:
        executed = Path(jobs[trial["job"]].info()["directory"], "executed.ipynb").read_text()
        assert '"parent ' in executed, "a forked rank's output is in its notebook, too"


@contextmanager
def killed_server(work: Path) -> Iterator[Any]:
    """A Jupyter server that is killed at the end; what asks its REST interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [
        sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=t",
        f"--ServerApp.root_dir={work}", "--ServerApp.jpserver_extensions={'dtrain_lab': True}",
    ]  # fmt: skip

    def ask(method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/dtrain-lab/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": "token t"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def answers() -> bool:
        try:
            ask("GET", "sweeps")
        except OSError:
            return False
        return True

    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(answers, 60, "the server")
        yield ask
    finally:
        server.kill()
        server.wait(10)


async def test_a_warm_rank_is_like_a_child_and_ends_with_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "code").mkdir()
    for key, value in {
        "DTRAIN_WARM": "1", "DTRAIN_NOTEBOOK": "a.ipynb", "MARK": "mine", "OMP_NUM_THREADS": "2"
    }.items():  # fmt: skip
        monkeypatch.setenv(key, value)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    at = trials.path()
    assert at is not None
    kept = SpawnedRank(1, 0)
    files = (kept.metrics, kept.stacks, kept.its_debugger.fileno())
    assert await trials.fork(at, 1, ["rank", str(tmp_path)], os.environ, files) is None, "nobody is there"
    trials.start(at)
    wait_until(lambda: Path(at).exists(), 60, "torch to be loaded")

    async def run(code: str) -> trials.ForkedRank:
        (tmp_path / "code" / "dtrain_main.py").write_text(f"# %% cell [1] a\n{code}\n")
        environment = {**os.environ, "RANK": "1"}
        made = await trials.fork(at, 1, ["rank", str(tmp_path)], environment, files)
        assert made is not None
        return made

    ends = await run("import os, sys\nprint(os.environ['MARK'], os.getcwd())\nsys.exit(3)")
    assert (await ends.stdout.read()).decode().split() == ["mine", str(tmp_path / "code")]
    assert await exit_code(ends) == 3
    killed = await run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert await exit_code(killed) == -9
    stays = await run("import time\nprint('here', flush=True)\ntime.sleep(600)")
    assert await stays.stdout.readline() == b"here\n"
    began = psutil.Process(stays.pid).create_time()
    other = await run("import time\nprint('here', flush=True)\ntime.sleep(600)")
    assert await other.stdout.readline() == b"here\n"
    real, other.began = other.began, other.began - 10  # as of a process that had this pid before
    other.send_signal(signal.SIGTERM)
    assert processes.same(other.pid, real) is not None, "another process is left alone"
    other.began = real
    other.send_signal(signal.SIGKILL)
    assert await exit_code(other) == -9
    stays.connection.close()
    wait_until(
        lambda: not psutil.pid_exists(stays.pid) or psutil.Process(stays.pid).create_time() != began,
        20,
        "its end",
    )


def test_a_trial_has_the_options_of_its_sweep() -> None:
    request = SweepRequest("a.ipynb", space={}, objective="l", time="01:00:00", parameters={"a": 1})
    made = trial_request(request, {"b": 2}, "x 0", "5eed", 4)
    assert (made.time, made.parameters, made.name) == ("01:00:00", {"a": 1, "b": 2}, "x 0")
    assert (made.sweep, made.at_once) == ("5eed", 4)


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ({}, (None, 1, 1)),
        ({"ranks": 4}, (4, None, None)),
        ({"ranks": 4, "nodes": 1, "ranks_per_node": 1}, (4, 1, 1)),
        ({"ranks": 4, "nodes": 2}, (4, 2, None)),
        ({"nodes": None, "ranks_per_node": None}, (None, None, None)),
        ({"nodes": 2}, (None, 2, 1)),
    ],
)
def test_a_trial_has_one_rank_unless_its_size_is_said(
    said: dict[str, int | None], size: tuple[int | None, ...]
) -> None:
    asked = json.dumps({"notebook": "a.ipynb", "space": {}, "objective": "l", **said})
    request = msgspec.json.decode(asked, type=SweepRequest)
    kept = msgspec.json.decode(msgspec.json.encode(request), type=SweepRequest)  # as in sweep.json
    made = trial_request(kept, {}, None)
    assert (made.ranks, made.nodes, made.ranks_per_node) == size
