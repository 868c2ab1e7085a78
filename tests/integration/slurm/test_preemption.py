"""Slurm takes nodes away, gives them again, and writes mail: for real, by priorities of partitions."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.api.result import RanksFailed
from dtrain_lab.errors import Unreachable
from tests.books import write
from tests.faults import note
from tests.hosts import SLURM, Hosts, need, on_login_node, running_hosts
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(180)]
TRAINS = """
import signal, time
import torch.distributed as dist
import dtrain_lab as dt
dist.init_process_group('gloo')
warned = []
!echo once on this node
signal.signal(signal.SIGUSR2, lambda *_: warned.append(1))
latest = dt.latest_checkpoint()
print('from', latest.step if latest else 0, flush=True)
while latest is None:
    time.sleep(0.05)
    if warned:
        with dt.checkpoint(7):
            pass
        print('saved', len(warned), flush=True)
        time.sleep(600)
"""
TWICE = ["saved 1", "saved 1"]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(1) as made:
        made.start_ssh()
        made.start_slurm(cpus=4, low=True)
        with on_login_node(made) as work:
            common = f'backend = "slurm"\nworkdir = "{work}"\n[slurm]\npartition = "low"\n'
            write_profile("low", common)
            write_profile("again", f'{common}options = ["--requeue"]\n')
            yield made


def trains(hosts: Hosts, profile: str, **more: Any) -> dt.Job:
    """A job that runs until it is warned, and has nothing left to do once it goes on."""
    folder = Path(tempfile.mkdtemp(dir=hosts.root / "work"))  # of its own, also for a second try
    book = write(folder / "trains.ipynb", [TRAINS])
    job = dt.submit(book, profile, nodes=1, ranks_per_node=2, **more)
    wait_until(lambda: said(job, "from") == ["from 0"] * 2, 60, "it to train")
    return job


def said(job: dt.Job, word: str) -> list[str]:
    """Lines of all ranks that begin with a word."""
    lines = [line.partition("] ")[2] for line in job.logs().splitlines()]
    return [line for line in lines if line.startswith(word)]


def take_all(hosts: Hosts) -> None:
    """A job of higher priority needs every processor."""
    hosts.slurm("sbatch", "--partition=main", "--exclusive", "--output=/dev/null", "--wrap", "sleep 2")


def test_a_job_that_is_preempted_is_warned_says_why_and_goes_on_from_its_checkpoint(hosts: Hosts) -> None:
    job = trains(hosts, "low", mail="me@example.org")
    began = time.monotonic()
    take_all(hosts)
    wait_until(lambda: said(job, "saved") == TWICE, 20, "its checkpoint")
    took = time.monotonic() - began
    assert job.wait(60) == "failed"
    assert said(job, "saved") == TWICE, "each rank once, in the time that is left"
    assert "A job of higher priority took its nodes" in str(job.info()["summary"]["text"]), job.info()
    again = job.resume()
    assert again.wait(60) == "succeeded"
    assert said(again, "from") == ["from 7"] * 2
    mails = (hosts.root / "mailed").read_text()
    assert f"Slurm Job_id={job.info()['scheduler_id']} Name=dtrain-trains Began" in mails, mails
    assert "me@example.org" in mails
    note(
        "Slurm preempts a job (with a grace time)",
        "the job, by Slurm's warning; each rank is signalled once",
        job.info()["summary"]["text"],
        "checkpoints, log; Resume continues from them, automatically with `--requeue` in the options",
        "other job submitted → every rank has written its checkpoint",
        took,
    )


def test_a_job_that_may_be_requeued_goes_on_by_itself(hosts: Hosts) -> None:
    job = trains(hosts, "again")
    number = str(job.info()["scheduler_id"])
    hosts.slurm("scancel", "--batch", "--signal=USR2", number)
    wait_until(lambda: said(job, "saved") == TWICE, 20, "its checkpoint")
    hosts.slurm("scontrol", "requeue", number)
    wait_until(
        lambda: "PENDING" in hosts.slurm("squeue", "-h", "-o", "%T", "-j", number), 30, "it to wait again"
    )
    assert wait_until(lambda: job.state == "queued", 20, "its state"), job.info()
    hosts.slurm("scontrol", "update", f"JobId={number}", "StartTime=now")
    assert job.wait(60) == "succeeded", (job.info(), job.logs())
    assert said(job, "from")[-2:] == ["from 7"] * 2
    assert said(job, "once") == ["once on this node"] * 2, "in each of its runs"
    left = {path.name for path in Path(job.info()["directory"]).iterdir()}
    assert left.isdisjoint({"failed.0", "warned"}), "they would end and warn the next run's ranks"
    assert job.info()["scheduler_id"] == number


def test_a_cluster_that_is_preempted_says_why(hosts: Hosts) -> None:
    cluster: Any = dt.start("low", nodes=1, ranks_per_node=2, name="taken")
    began = time.monotonic()
    take_all(hosts)

    said: list[str] = []

    def knows() -> bool:
        try:
            info = cluster.info()
        except Unreachable:  # on a busy machine the time of grace may be over by now
            return True
        if info["limit_at"] is None or info["limit_at"] > time.time() + 60:  # Slurm has not answered yet
            return False
        said.append(info["summary"]["text"])
        return True

    wait_until(knows, 60, "it to know its end")
    took = time.monotonic() - began
    assert all("Its allocation ends in" in text for text in said)
    with pytest.raises((RanksFailed, Unreachable), match=r"job of higher priority took its nodes\."):
        cluster.run("import time\nwhile True: time.sleep(0.1)", timeout=60)
    wait_until(lambda: cluster._connection.closed, 30, "its end")
    with pytest.raises(
        Unreachable, match=r"taken has ended\. A job of higher priority took its nodes\."
    ) as ended:
        cluster.run("1")
    note(
        "Slurm preempts a cluster (with a grace time)",
        "the cluster, which queries Slurm after the warning",
        " Then: ".join([*said, ended.value.message]),
        "what was pulled or written in time",
        "other job submitted → end reported",
        took,
    )
