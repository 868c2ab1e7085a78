"""Jobs of a Slurm with accounting (real slurmdbd and MariaDB): hours that are left, accounts that are not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dtrain_lab as dt
from dtrain_lab.api.job import Job
from dtrain_lab.errors import StartFailed
from tests import accounting
from tests.books import write
from tests.hosts import SLURM, Hosts, need, on_login_node, running_hosts
from tests.integration.profiles import write_profile
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.hosts, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    need(*SLURM, *accounting.NEEDED)
    with running_hosts(1) as made:
        made.start_munge()
        lines = accounting.start(made)
        accounting.manage(made, "add", "account", "lab")
        accounting.manage(made, "add", "account", "proj", "parent=lab")
        accounting.manage(made, "add", "user", "root", "account=proj", "defaultaccount=proj")
        made.start_slurm(gpus=4, accounting=lines)
        limits = "GrpTRESMins=gres/gpu=600,cpu=600"
        accounting.manage(made, "modify", "account", "lab", "set", limits)
        with on_login_node(made) as work:
            head = f'backend = "slurm"\nworkdir = "{work}"\n[slurm]\n'
            write_profile("gpu", f'{head}gres = "gpu:4"\ntime = "01:00:00"\n')
            write_profile("other", f'{head}account = "nobodys"\n')
            yield made


def asked(book: Path, *options: str) -> Any:
    """The plan, as the terminal shows it: it asks the scheduler."""
    words = ["submit", str(book), "--dry-run", *options]
    done = subprocess.run(["dtrain-lab", *words, "--json"], capture_output=True, text=True, check=False)
    plan = json.loads(done.stdout)
    refused = any(finding["severity"] == "problem" for finding in plan["findings"])
    assert done.returncode == (2 if refused else 0), done.stderr
    return plan


def left(book: Path) -> float:
    hours = asked(book, "--profile", "gpu", "--ranks", "4")["budget"]["left_hours"]
    assert isinstance(hours, float)
    return hours


def test_a_plan_says_what_is_left_of_what_it_may_take(hosts: Hosts, tmp_path: Path) -> None:
    book = write(tmp_path / "a.ipynb", ["import torch.distributed as dist\ndist.init_process_group()"])
    plan = asked(book, "--profile", "gpu", "--ranks", "4")
    assert plan["budget"] == {
        "unit": "GPU", "asked_hours": 4.0, "left_hours": 10.0, "limit_hours": 10.0,
        "holder": "the account lab",
    }  # fmt: skip
    assert "over_budget" not in [finding["code"] for finding in plan["findings"]]
    plan = asked(book, "--profile", "gpu", "--ranks", "4", "--time", "04:00:00")
    over = next(finding for finding in plan["findings"] if finding["code"] == "over_budget")
    assert over["message"] == "It may take 16.0 GPU-hours; the account lab has 10.0 of 10.0 left."
    words = ["dtrain-lab", "submit", str(book), "--dry-run", "--profile", "gpu", "--ranks", "4"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "It may take 4.0 GPU-hours; the account lab has 10.0 of 10.0 left." in " ".join(shown.split())


def test_a_job_that_its_account_has_no_hours_for_says_so(hosts: Hosts, tmp_path: Path) -> None:
    hold = ["sbatch", "--parsable", "--gres=gpu:4", "--time=50", "--output=/dev/null", "--wrap=sleep 600"]
    hosts.slurm(*hold)
    book = write(tmp_path / "b.ipynb", ["print(1)"])
    wait_until(lambda: left(book) < 8, 30, "it to run")
    assert left(book) == pytest.approx(10 - 4 * 50 / 60, abs=0.3), "what runs may take its whole time"
    accounting.manage(hosts, "modify", "account", "lab", "set", "GrpTRESMins=gres/gpu=300")
    job: Job = dt.submit(book, "gpu", ranks=4)
    wait_until(lambda: "hours" in job.info()["summary"]["text"], 60, "its reason")
    assert job.info()["reason"]["message"] == "The job may need more hours than your account has left."
    job.cancel()
    assert job.wait(30) == "cancelled"


def test_an_account_that_is_not_ours_is_refused_in_slurms_words(hosts: Hosts, tmp_path: Path) -> None:
    book = write(tmp_path / "c.ipynb", ["print(1)"])
    refused = next(
        f for f in asked(book, "--profile", "other", "--ranks", "1")["findings"] if f["code"] == "refused"
    )
    assert "nvalid account" in refused["message"]
    assert refused["fix"] == "Set [slurm] account in the profile."
    before = len(dt.jobs())
    with pytest.raises(StartFailed, match="nvalid account") as caught:
        dt.submit(book, "other", ranks=1)
    assert caught.value.hint == "Set [slurm] account in the profile."
    assert len(dt.jobs()) == before
