"""Jobs of a real Slurm in both forms: ranks, logs, errors, cancel, resume, what is found after a crash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.api.portal import Portal
from dtrain_lab.backends.slurm import batch_jobs, script
from dtrain_lab.errors import StartFailed, Unreachable
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.policy import backends
from tests.books import FAILING_LINE, looping, training, write
from tests.faults import note
from tests.hosts import SLURM, Hosts, need, on_login_node, running_hosts
from tests.integration.debugger.job_debugging import look_around
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def hosts(canaries: dict[str, str]) -> Iterator[Hosts]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(2) as made:
        made.start_slurm()
        with on_login_node(made, **canaries) as work:
            write_profile("queue", f'backend = "slurm"\nworkdir = "{work}"\n')
            yield made


@pytest.fixture(autouse=True)
def quiet(hosts: Hosts) -> Iterator[None]:
    yield
    hosts.slurm("scancel", "--me")
    hosts.wait_until_idle()


@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_ranks_are_distinct_and_train_together(hosts: Hosts, tmp_path: Path, launcher: Any) -> None:
    book = training(tmp_path / "train.ipynb")
    job: Job = dt.submit(book, "queue", nodes=2, ranks_per_node=2, launcher=launcher, parameters={"steps": 6})
    assert job.wait(120) == "succeeded", job.logs()
    info = job.info()
    assert info["scheduler_id"].isdigit()
    assert info["exit_code"] == 0
    assert info["checkpoint_step"] == 5
    log = job.logs()
    for rank in range(4):
        assert f"[{rank}] rank {rank} local {rank % 2} of 4" in log
        assert f"[{rank}] done 6" in log
    assert [rank["node"] for rank in info["ranks"]] == ["node1", "node1", "node2", "node2"]
    executed = json.loads((Path(info["directory"]) / "executed.ipynb").read_text())
    last = executed["cells"][-1]["outputs"][-1]
    assert last["output_type"] == "execute_result"
    sums = [line for line in log.splitlines() if line.split("] ")[1] == last["data"]["text/plain"]]
    assert len(sums) == 4, "all ranks have the same model"
    assert job.metrics()["values"]["step"] == 5


def test_a_job_uses_the_network_that_a_cluster_uses(
    hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that in which the nodes have their names, which is used where the nodes do not answer in time."""
    monkeypatch.setattr(script, "INTERFACES_WITHIN_S", 100)  # on a slow machine, they do
    code = (
        "import os, torch, torch.distributed as dist\nt = torch.ones(1)\ndist.all_reduce(t)\n"
        "print(int(t), *(os.environ[name + '_SOCKET_IFNAME'] for name in ('GLOO', 'NCCL')))"
    )
    with hosts.second_network() as ends:
        expected = {rank: f"2 {end} {end}\n" for rank, end in enumerate(ends.values())}
        job: Job = dt.submit(write(tmp_path / "net.ipynb", [code]), "queue", nodes=2, ranks_per_node=1)
        assert job.wait(120) == "succeeded", job.logs()
        for rank, text in expected.items():  # torch may warn: hosts have no names; and as ranks end
            assert f"[{rank}] {text}" in job.logs(rank).splitlines(keepends=True), job.logs()
        with dt.start("queue", nodes=2, ranks_per_node=1) as cluster:
            assert cluster.run(code).stdout == expected


@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_a_running_job_is_debugged_also_after_it_began_anew(
    hosts: Hosts, tmp_path: Path, launcher: Any
) -> None:
    dies = "if rank == 1 and os.environ['DTRAIN_ATTEMPT'] == '0': os._exit(3)"
    book = looping(tmp_path / "loop.ipynb", str(tmp_path / "stop"), dies)
    job: Job = dt.submit(book, "queue", nodes=2, ranks_per_node=1, launcher=launcher, retries=1)
    # rank 0 may reach the loop before its attempt ends with rank 1
    wait_until(lambda: job.info()["attempt"] == 1, 60, "it to begin anew")
    look_around(job)
    (tmp_path / "stop").touch()
    assert job.wait(120) == "succeeded", job.logs()
    assert job.info()["attempt"] == 1
    assert "[0] total 4.0" in job.logs()


def test_nothing_secret_reaches_a_job(hosts: Hosts, tmp_path: Path) -> None:
    code = "import os\nprint({k: v for k, v in os.environ.items() if 'canary' in v})"
    job: Job = dt.submit(write(tmp_path / "secrets.ipynb", [code]), "queue", nodes=1, ranks_per_node=1)
    assert job.wait(60) == "succeeded", job.logs()
    assert job.logs() == "[0] {}\n"


@pytest.mark.parametrize(("launcher", "on_each"), [("srun", 2), ("torchrun", 1)])
def test_the_error_is_named_by_its_cell_and_a_resumed_job_goes_on(
    hosts: Hosts, tmp_path: Path, launcher: Any, on_each: int
) -> None:
    last = 2 * on_each - 1
    book = training(tmp_path / "train.ipynb", plain=True)
    parameters = {"steps": 9, "fails": 7}
    job: Job = dt.submit(
        book, "queue", nodes=2, ranks_per_node=on_each, launcher=launcher, parameters=parameters, name="fails"
    )
    assert job.wait(120) == "failed"
    info = job.info()
    error = info["error"]
    assert (error["rank"], error["cell"], error["line"]) == (last, "[4]", FAILING_LINE), job.logs()
    assert (error["type"], error["message"]) == ("ValueError", "the data ended early")
    assert info["failed_rank"] == last
    assert f"rank {last} failed in cell [4]" in info["summary"]["text"]
    assert "ValueError: the data ended early" in info["summary"]["text"]
    assert f'File "train.ipynb[4]", line {FAILING_LINE}' in job.logs(last)
    assert info["checkpoint_step"] == 5

    # its code as it was, but for what made it fail
    main = Path(info["directory"]) / "code" / "dtrain_main.py"
    main.write_text(main.read_text().replace("fails = 7", "fails = -1"))
    again = job.resume()
    assert again.wait(120) == "succeeded", again.logs()
    told = again.info()
    assert told["parent"] == job.id
    assert "goes on from 5" in again.logs(0)
    assert "[0] done 9" in again.logs()
    hosts.wait_until_idle()


@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_data_lies_on_each_nodes_own_disk_while_it_runs(hosts: Hosts, tmp_path: Path, launcher: Any) -> None:
    data = tmp_path / "set"
    data.mkdir()
    (data / "a.bin").write_bytes(bytes(100_000))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:  # both nodes of this machine share it
        profile = f'backend = "slurm"\nworkdir = "{hosts.root}/work"\nscratch = "{scratch}"\n'
        write_profile("scratch", profile)
        code = (
            "import dtrain_lab as dt, os\nwhere = dt.staged(path)\n"
            "print(os.environ['SLURM_NODEID'], where, where.stat().st_size)\nassert rank or not fails"
        )
        code = code.replace("path)", f"{str(data / 'a.bin')!r})")
        book = write(tmp_path / "reads.ipynb", [code.replace("fails", "False")])
        asked = {"nodes": 2, "ranks_per_node": 2, "launcher": launcher, "stage": [str(data)]}
        job: Job = dt.submit(book, "scratch", **asked)
        assert job.wait(120) == "succeeded", job.logs()
        base = f"{scratch}/dtrain-lab-data-{os.getuid()}"
        lines = sorted(job.logs().splitlines())
        assert lines == [
            f"[{rank}] {rank // 2} {base}/{job.id}.{rank // 2}/set/a.bin 100000" for rank in range(4)
        ]
        assert os.listdir(base) == []
        if launcher == "torchrun":
            return
        # also where it fails, and where it is cancelled
        job = dt.submit(write(tmp_path / "f.ipynb", [code.replace("fails", "True")]), "scratch", **asked)
        assert job.wait(120) == "failed"
        wait_until(lambda: os.listdir(base) == [], 30, "the copies' end")
        sleeps = write(tmp_path / "s.ipynb", ["import time\nprint('sleeps', flush=True)\ntime.sleep(600)"])
        job = dt.submit(sleeps, "scratch", **asked)
        wait_until(lambda: job.logs().count("sleeps") == 4, 60, "its start")
        assert len(os.listdir(base)) == 2
        job.cancel()
        assert job.wait(60) == "cancelled"
        wait_until(lambda: os.listdir(base) == [], 60, "the copies' end")


@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_cancel_leaves_nothing(
    hosts: Hosts, tmp_path: Path, launcher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = training(tmp_path / "train.ipynb")
    job: Job = dt.submit(
        book,
        "queue",
        nodes=2,
        ranks_per_node=1,
        launcher=launcher,
        parameters={"steps": 10_000, "pause": 0.01},
    )
    wait_until(lambda: (job.info()["metrics"]["step_s"] or 0) > 0, 90, "it trains")
    info = job.info()
    assert info["state"] == "running"
    assert info["metrics"]["samples_per_s"] > 0
    assert info["progress"][0]["done"] == 4
    assert {rank["state"] for rank in info["ranks"]} <= {"busy", "in collective"}
    stacks = job.stacks()
    assert set(stacks) == {0, 1}
    assert any("train.ipynb[4]" in text for text in stacks.values())
    monkeypatch.setenv(
        "DTRAIN_LAB_POLL_FLOOR_S", "30"
    )  # as it is unless told: nobody waits so long for its end
    backends.backend.cache_clear()
    assert job.info()["state"] == "running"
    began = time.monotonic()
    job.cancel()
    assert job.wait(30) == "cancelled"
    assert time.monotonic() - began < 20
    backends.backend.cache_clear()

    wait_until(lambda: not hosts.running("node1") + hosts.running("node2"), 20, "nothing is left")


def test_the_time_limit_warns_every_rank_once(hosts: Hosts, tmp_path: Path) -> None:
    code = (
        "import signal, time\ncount = []\n"
        "signal.signal(signal.SIGUSR2, lambda *_: count.append(1))\n"
        "while not count:\n    time.sleep(0.1)\ntime.sleep(3)\nprint('warned', len(count))"
    )
    book = write(tmp_path / "warned.ipynb", [code])
    for launcher in ("srun", "torchrun"):
        job: Job = dt.submit(book, "queue", nodes=2, ranks_per_node=1, launcher=launcher, time="10")
        wait_until(lambda job=job: job.info()["started_at"] is not None, 60, "it starts")
        wait_until(lambda job=job: (Path(job.info()["directory"]) / "cell.json").exists(), 60, "it runs")
        hosts.slurm("scancel", "--batch", "--signal=USR2", job.info()["scheduler_id"])
        assert job.wait(60) == "succeeded", (job.info(), job.logs())
        assert job.logs() == "[0] warned 1\n[1] warned 1\n" or job.logs() == "[1] warned 1\n[0] warned 1\n"


def test_scancel_from_outside_is_told(hosts: Hosts, tmp_path: Path) -> None:
    book = write(tmp_path / "long.ipynb", ["import time\ntime.sleep(600)"])
    job: Job = dt.submit(book, "queue", nodes=1, ranks_per_node=1)
    wait_until(lambda: job.state in ("running", "starting"), 30, "it runs")
    hosts.slurm("scancel", job.info()["scheduler_id"])
    assert job.wait(60) == "cancelled"


def test_a_job_waits_with_its_reason_and_after_another(hosts: Hosts, tmp_path: Path) -> None:
    first: Job = dt.submit(
        write(tmp_path / "first.ipynb", ["import time\ntime.sleep(3)"]), "queue", nodes=1, ranks_per_node=1
    )
    second: Job = dt.submit(
        write(tmp_path / "second.ipynb", ["print('second')"]), "queue", nodes=1, ranks_per_node=1, after=first
    )
    wait_until(lambda: second.info()["reason"] is not None, 30, "it waits")
    info = second.info()
    assert info["state"] == "queued"
    assert (info["reason"]["code"], info["reason"]["message"]) == ("after", 'Waits for the job "first".')
    assert second.wait(60) == "succeeded"
    assert first.info()["ended_at"] <= second.info()["started_at"]


def test_a_refusal_is_in_the_schedulers_words_and_leaves_nothing(hosts: Hosts, tmp_path: Path) -> None:
    write_profile(
        "wrong", f'backend = "slurm"\nworkdir = "{hosts.root}/work"\n[slurm]\noptions = ["--qos=none"]\n'
    )
    before = sorted(p.name for p in (hosts.root / "work" / "jobs").glob("*"))
    count = len(dt.jobs())
    write_profile("odd", f'backend = "slurm"\nworkdir = "{hosts.root}/work"\n[slurm]\ngres = "tpu:1"\n')
    with pytest.raises(StartFailed, match="Slurm refuses"):
        dt.submit(write(tmp_path / "a.ipynb", ["1"]), "odd", nodes=1, ranks_per_node=1)
    assert sorted(p.name for p in (hosts.root / "work" / "jobs").glob("*")) == before
    assert len(dt.jobs()) == count


def test_the_scheduler_is_asked_before_when_a_person_wants_it(hosts: Hosts, tmp_path: Path) -> None:
    book = str(write(tmp_path / "a.ipynb", ["1"]))
    run = ["dtrain-lab", "submit", book, "--profile", "queue", "--nodes", "2", "--dry-run", "--json"]
    plan = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    assert abs(plan["expected_start_at"] - time.time()) < 120
    write_profile("odd", f'backend = "slurm"\nworkdir = "{hosts.root}/work"\n[slurm]\ngres = "tpu:1"\n')
    run[4] = "odd"
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    plan = json.loads(done.stdout)
    assert [f["code"] for f in plan["findings"] if f["severity"] == "problem"] == ["refused"]
    assert hosts.slurm("squeue", "-h") == ""


def test_a_submission_that_was_cut_off_is_found_again(hosts: Hosts, tmp_path: Path) -> None:
    """The server died between sbatch and its own record: nothing is lost, nothing runs twice."""
    job: Job = dt.submit(
        write(tmp_path / "cut.ipynb", ["import time\ntime.sleep(4)\nprint('once')"]),
        "queue",
        nodes=1,
        ranks_per_node=1,
    )
    portal = Portal.get()
    index = portal.jobs._index
    known = portal.call(index.find(job.id))
    assert known is not None
    portal.call(index.remove(job.id))
    portal.call(index.put(msgspec.structs.replace(known[0], handle=None)))
    portal._jobs = Jobs()
    found = next(j for j in dt.jobs() if j.id == job.id)
    assert found.info()["scheduler_id"] == known[0].handle.job  # type: ignore[union-attr]
    assert found.wait(60) == "succeeded", (found.info(), found.logs())
    assert found.logs() == "[0] once\n"


LATE = '{sbatch} "$@" > /dev/null'
LATER = (
    "setsid bash -c 'while [ ! -e {go} ]; do sleep 0.1; done; {sbatch} \"$@\"; touch {go}.done'"
    ' sbatch "$@" > /dev/null 2>&1 &'
)
"""Slurm's controller accepts the job by itself, also where sbatch, and all that it has started, was ended."""


@contextmanager
def slow_sbatch(folder: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An sbatch that submits, and does not answer in time."""
    line = how.format(sbatch=shutil.which("sbatch"), go=folder / "go")
    (folder / "sbatch").write_text(f"#!/bin/bash\n{line}\nexec sleep 600\n")
    (folder / "sbatch").chmod(0o700)
    with monkeypatch.context() as patch:
        patch.setattr(batch_jobs, "SUBMIT_WITHIN_S", 3.0)
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield


def test_a_cluster_that_slurm_takes_too_late_does_not_start(
    hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = hosts.root / "work" / "worlds"
    before = set(folders.glob("*"))  # of clusters whose heads were killed by the tests before
    with (
        slow_sbatch(tmp_path, LATER, monkeypatch),
        pytest.raises(Unreachable, match="sbatch did not answer"),
    ):
        dt.start("queue", nodes=1, ranks_per_node=1)
    (tmp_path / "go").touch()
    wait_until((tmp_path / "go.done").exists, 60, "Slurm takes it")
    hosts.wait_until_idle()
    assert [(p.name, os.listdir(p)) for p in set(folders.glob("*")) - before] == []


@pytest.mark.parametrize("how", ["answers late", "takes it later", "takes it later and it was cancelled"])
def test_a_time_out_of_sbatch_is_no_failure_and_nothing_runs_twice(
    hosts: Hosts, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled, go = how.endswith("cancelled"), tmp_path / "go"
    with slow_sbatch(tmp_path, LATE if how == "answers late" else LATER, monkeypatch):
        runs = tmp_path / "runs"
        book = write(tmp_path / "late.ipynb", [f"print('once', file=open({str(runs)!r}, 'a'))"])
        began = time.monotonic()
        job: Job = dt.submit(book, "queue", nodes=1, ranks_per_node=1)
    if how == "takes it later":
        note(
            "`sbatch` does not answer within 60 s (here 3), and Slurm accepts the job later",
            "the submitting process",
            job.snapshot().reason.message,  # type: ignore[union-attr]
            "the job: it is found by its id once Slurm has it, and runs once",
            "submitted → reported",
            time.monotonic() - began,
        )
    if how != "answers late":
        assert job.state == "planned"
        assert job.info()["scheduler_id"] is None
        if cancelled:
            job.cancel()
            assert job.state == "stopping"
        go.touch()
        wait_until((tmp_path / "go.done").exists, 60, "Slurm takes it")
    assert job.wait(120) == ("cancelled" if cancelled else "succeeded"), (job.info(), job.logs())
    hosts.wait_until_idle()
    assert (runs.read_text() if runs.exists() else "") == ("" if cancelled else "once\n")


def test_the_script_runs_by_hand_under_torchrun(hosts: Hosts, tmp_path: Path) -> None:
    """Without this product: plain torchrun of what `dtrain-lab script` prints."""
    book = write(
        tmp_path / "plain.ipynb",
        [
            "import torch, torch.distributed as dist\nt = torch.ones(1)\ndist.all_reduce(t)\n"
            "print(f'{rank} {int(t)}\\n', end='')"
        ],
    )
    text = subprocess.run(
        ["dtrain-lab", "script", str(book)], capture_output=True, text=True, check=True
    ).stdout
    (tmp_path / "main.py").write_text(text)
    run = ["torchrun", "--standalone", "--nproc-per-node=2", str(tmp_path / "main.py")]
    out = subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert sorted(out.split("\n")) == ["", "0 2", "1 2"]
