"""Sweeps of two-rank trials on a real Slurm and on SSH hosts: a killed trial, stop and resume."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from tests.books import write
from tests.hosts import SLURM, Hosts, need, on_login_node, running_hosts
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(180)]

PARAMETERS = "lr = 0.1\nsteps = 3\ngo = ''"
WORK = """import time
from pathlib import Path
import torch
import torch.distributed as dist
import dtrain_lab as dt
latest = dt.latest_checkpoint()
first = latest.step if latest is not None else 0
print("from", first, "lr", lr)
def held():
    # all ranks agree; one whose peer is killed is told by its connection, not after the agent's grace
    may = torch.tensor([float(Path(go).exists())])
    dist.all_reduce(may)
    return not may.item()
for step in range(first, steps):
    both = torch.tensor([lr])
    dist.all_reduce(both)
    dt.log(step, loss=both.item() + 1 / (step + 1))
    with dt.checkpoint(step + 1) as folder:
        (folder / f"lr-{rank}.txt").write_text(str(lr))
    while step and held():  # a trial that has a checkpoint waits until it may end
        time.sleep(0.05)"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    need("sshd", "ssh-keygen", *SLURM)
    with running_hosts(2) as made:
        made.start_ssh()
        made.start_slurm()
        with on_login_node(made) as work:
            write_profile("on-slurm", f'backend = "slurm"\nworkdir = "{work}/slurm"\n')
            write_profile(
                "on-ssh", f'backend = "ssh"\nworkdir = "{work}/ssh"\n[ssh]\nhosts = ["node1", "node2"]\n'
            )
            yield made


@pytest.mark.parametrize(("backend", "nodes", "total"), [("slurm", 2, 3), ("ssh", 1, 2)])
def test_a_sweep_survives_a_killed_trial_and_goes_on_after_a_stop(
    hosts: Hosts, backend: str, nodes: int, total: int, tmp_path: Path
) -> None:
    """On Slurm a third trial begins only after the stop; that does not depend on the back-end."""
    file = write(tmp_path / "book" / "train.ipynb", [(PARAMETERS, "parameters"), WORK])
    with tempfile.TemporaryDirectory(dir=hosts.root) as shared:
        go = Path(shared, "go")
        space = {"lr": [0.4, 0.1, 0.3][:total]}
        sweep = dt.sweep(
            file, space, "loss", sampler="grid", parallel=2, profile=f"on-{backend}",
            nodes=nodes, ranks_per_node=2 // nodes, parameters={"go": str(go)}, name=f"search-{backend}",
        )  # fmt: skip
        wait_until(lambda: _saved(sweep) == [0, 1], 60, "two trials with checkpoints")
        ranks = _job(sweep, 0).info()["ranks"]
        assert [rank["node"] for rank in ranks] == ["node1", "node2"][:nodes] * (2 // nodes)
        os.kill(ranks[1]["pid"], 9)
        wait_until(lambda: sweep.trials()[0]["state"] == "resumed", 40, "the killed trial to go on")

        sweep.stop(timeout=40)
        assert sweep.state == "stopped", sweep.info()
        assert [trial["state"] for trial in sweep.trials()] == ["stopped", "stopped"]
        go.touch()
        sweep.resume()
        assert sweep.wait(90) == "succeeded", sweep.info()

    trials = sweep.trials()
    assert [trial["state"] for trial in trials] == ["succeeded"] * total, trials
    assert [round(trial["value"], 3) for trial in trials] == [1.133, 0.533, 0.933][:total]
    assert trials[0]["resumes"] >= 1
    assert trials[1]["resumes"] == 1
    assert [trial["resumes"] for trial in trials[2:]] == [0] * (total - 2), "it begins after the stop"
    for number in (0, 1):
        log = _job(sweep, number).logs()
        assert "from 0" not in log, f"trial {number} goes on from its checkpoint: {log}"
    ran = [job.id for job in dt.jobs() if job.info()["sweep"] == sweep.id]
    assert sorted(ran) == sorted(job for trial in trials for job in trial["jobs"]), "none ran twice"
    best = sweep.best()
    assert best is not None
    assert best["number"] == 1


def _saved(sweep: dt.Sweep) -> list[int]:
    return [trial["number"] for trial in sweep.trials() if trial["checkpoint_step"]]


def _job(sweep: dt.Sweep, number: int) -> Any:
    identity = sweep.trials()[number]["job"]
    found: list[Job] = [job for job in dt.jobs() if job.id == identity]
    return found[0]
