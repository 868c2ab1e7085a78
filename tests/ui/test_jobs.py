"""Submit, follow, read an error, resume: in a real browser, on this machine's two simulated nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import accounting
from tests.books import FAILING_LINE, training, write
from tests.gpus import Gpus, computing
from tests.hosts import SLURM, need, running_hosts
from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import TOKEN, Lab, run_lab
from tests.ui.test_debugger import execute, stack, toggle_breakpoint
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(400)]


def fill(page: Any, label: str, value: str) -> None:
    page.locator(".jp-Dtrain-submitForm").get_by_label(label, exact=True).fill(value)


def parameters(page: Any, text: str) -> None:
    """All at once, as text."""
    form = page.locator(".jp-Dtrain-submitForm:visible")
    as_text = form.get_by_role("button", name="Edit as text")
    if as_text.is_visible():
        as_text.click()
    fill(page, "Parameters", text)


def submit(page: Any) -> Any:
    """Press Submit once the check allows it; the view of the job."""
    bar = page.locator(".jp-Dtrain-submitBar:visible")
    bar.locator("button[aria-disabled='false']").click()
    view = page.locator(".jp-Dtrain-jobView:visible")
    view.locator(".jp-Dtrain-jobHead").wait_for()
    return view


def test_a_notebook_is_submitted_fails_by_its_cell_and_is_resumed(lab: Lab, page: Any) -> None:
    training(lab.work / "train.ipynb")
    open_notebook(page, lab, "train.ipynb")
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    form = page.locator(".jp-Dtrain-submitForm")
    form.get_by_text("Submit train.ipynb").wait_for()
    given = {name: form.get_by_label(name, exact=True).input_value() for name in ("steps", "fails", "pause")}
    assert given == {"steps": "5", "fails": "-1", "pause": "0.0"}
    fill(page, "steps", "6")
    form.get_by_role("button", name="Edit as text").click()
    assert form.get_by_label("Parameters").input_value() == "steps = 6\nfails = -1\npause = 0.0"
    form.get_by_role("button", name="Nodes: one more").click()
    assert form.get_by_label("Nodes", exact=True).input_value() == "2"
    fill(page, "Ranks on each", "1")
    form.get_by_text("= 2 ranks").wait_for()
    fill(page, "Name", "first")
    parameters(page, "steps = 400\nfails = 320\npause = 0.02")
    report = page.locator(".jp-Dtrain-submitReport")
    report.get_by_role("status").get_by_text("Ready to submit").wait_for()
    report.get_by_text("%load_ext dtrain_lab is left out.").wait_for()
    report.get_by_role("tab", name="Job file").click()
    report.get_by_text("dtrain_lab.node attached").first.wait_for()
    page.locator(".jp-Dtrain-submitBar").get_by_text("2 nodes × 1 = 2 ranks").wait_for()
    shot(page, "submit")

    view = submit(page)
    view.get_by_role("status").get_by_text("Training. All 2 ranks keep pace.").wait_for(timeout=60_000)
    view.get_by_text("rank 0 local 0 of 2").wait_for()
    view.get_by_role("button", name="Stacks").click()
    page.locator(".jp-Dialog").get_by_text("train.ipynb[4]").first.wait_for()
    page.locator(".jp-Dialog").get_by_role("button", name="Close").click()

    view.get_by_role("alert").get_by_text("rank 1 failed in cell [4]").wait_for(timeout=60_000)
    view.locator(".jp-Dtrain-logRow").get_by_text("ValueError: the data ended early").wait_for()
    view.get_by_text("library frames").first.wait_for()
    page.locator(".jp-toast, .Toastify__toast").get_by_text("first: Failed").first.wait_for()
    shot(page, "job-failed")
    view.locator(".jp-Dtrain-jobHead").get_by_role("button", name=f"cell [4], line {FAILING_LINE}").click()
    page.get_by_text(f"Ln {FAILING_LINE}, Col 1").wait_for()

    page.locator(".lm-TabBar-tab", has_text="Job: first").click()
    view.get_by_role("button", name="Resume from step 320").click()
    again = page.locator(".jp-Dtrain-jobView:visible")
    again.get_by_text("Goes on from").wait_for()
    again.get_by_text("goes on from 320").wait_for(timeout=60_000)

    page.evaluate("() => window.jupyterapp.commands.execute('dtrain-lab:show-jobs')")
    jobs = page.locator(".jp-Dtrain-jobs")
    jobs.locator("tr[data-job]").nth(1).wait_for()
    assert jobs.locator("tr[data-job]").count() == 2
    page.get_by_label("Filter jobs").fill("fail")
    jobs.locator("tr[data-state='failed']").nth(1).wait_for()  # it meets the same step again
    shot(page, "jobs")


def test_problems_stop_a_submission_and_lead_to_their_cell(lab: Lab, page: Any) -> None:
    name = lab.notebook("broken.ipynb", ["import torch", "print(1)\nx = undefined_thing", "input('?')"])
    open_notebook(page, lab, name)
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    report = page.locator(".jp-Dtrain-submitReport")
    report.get_by_text("2 problems stop this job").wait_for()
    bar = page.locator(".jp-Dtrain-submitBar")
    assert bar.get_by_role("button", name="Submit").get_attribute("aria-disabled") == "true"
    bar.get_by_text("Fix 2 problems to submit").wait_for()
    fill(page, "Ranks on each", "9999")
    report.get_by_text("more than this machine can hold").wait_for()
    page.locator(".jp-Dtrain-fieldError").get_by_text("more than this machine can hold").wait_for()
    fill(page, "Ranks on each", "1")
    shot(page, "submit-problems")
    report.get_by_role("button", name="cell [2], line 2").click()
    page.get_by_text("Ln 2, Col 1").wait_for()


def test_a_job_is_cancelled(lab: Lab, page: Any) -> None:
    name = lab.notebook("long.ipynb", ["import time\nprint('begins')\ntime.sleep(900)"])
    open_notebook(page, lab, name)
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    view = submit(page)
    view.get_by_text("begins").wait_for(timeout=60_000)
    page.evaluate("() => window.jupyterapp.commands.execute('dtrain-lab:show-jobs')")
    page.get_by_text("Slots: who holds them, and who waits").click()
    slots = page.locator(".jp-Dtrain-slots")
    slots.get_by_text("slots are free").wait_for()
    shot(page, "slots")
    slots.get_by_role("button", name="job long").click()
    view.get_by_role("button", name="Cancel…").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Cancel job").click()
    view.get_by_role("status").get_by_text("Cancelled after").wait_for(timeout=60_000)


def test_a_process_that_keeps_a_gpu_is_stopped(tmp_path: Path, page: Any) -> None:
    gpus = Gpus(tmp_path, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        with (
            run_lab(tmp_path / "lab") as lab,
            computing(gpus, 1, JPY_SESSION_NAME="prototype.ipynb") as process,
        ):
            page.goto(f"{lab.url}/lab?token={TOKEN}")
            there = "() => window.jupyterapp?.commands.hasCommand('dtrain-lab:show-jobs')"
            page.wait_for_function(there)
            page.evaluate("() => window.jupyterapp.commands.execute('dtrain-lab:show-jobs')")
            page.get_by_text("Slots: who holds them, and who waits").click()
            slots = page.locator(".jp-Dtrain-slots")
            slots.get_by_text("1 of 2 slots are free").wait_for()
            slots.get_by_text(f"process {process.pid} python (prototype.ipynb)").wait_for()
            shot(page, "slots-gpus")
            slots.get_by_role("button", name=f"Stop process {process.pid}").click()
            dialog = page.locator(".jp-Dialog")
            dialog.get_by_text("what it has in memory is lost").wait_for()
            shot(page, "slots-stop")
            dialog.get_by_role("button", name="Stop").click()
            wait_until(lambda: process.status() == psutil.STATUS_ZOMBIE, 20, "the process to end")
            gpus.computes({})
            slots.get_by_text("2 of 2 slots are free").wait_for()


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on the login node of a real Slurm with two nodes."""
    need("sshd", "ssh-keygen", *SLURM, *accounting.NEEDED)
    root = tmp_path_factory.mktemp("slurm")
    with running_hosts(2) as hosts, pytest.MonkeyPatch.context() as patch:
        hosts.start_munge()
        lines = accounting.start(hosts)
        accounting.manage(hosts, "add", "account", "lab")
        accounting.manage(hosts, "add", "user", "root", "account=lab", "defaultaccount=lab")
        hosts.start_slurm(accounting=lines)
        accounting.manage(hosts, "modify", "account", "lab", "set", "GrpTRESMins=cpu=6000")
        patch.setenv("SLURM_CONF", str(hosts.slurm_conf))
        patch.setenv("DTRAIN_LAB_POLL_FLOOR_S", "1")
        with run_lab(root) as lab:
            folder = root / "config" / "dtrain-lab" / "profiles"
            folder.mkdir(parents=True)
            (folder / "queue.toml").write_text(
                f'backend = "slurm"\nworkdir = "{root}/shared"\nnodes = 2\nranks_per_node = 1\n'
            )
            yield lab


def choose(page: Any, label: str, value: str) -> None:
    page.locator(".jp-Dtrain-submitForm").get_by_label(label, exact=True).select_option(value)


@pytest.mark.hosts
def test_a_notebook_runs_on_two_nodes_of_slurm_in_both_forms(queue: Lab, page: Any) -> None:
    """Followed, seen to train, failed by its cell, resumed, cancelled."""
    training(queue.work / "both.ipynb")
    open_notebook(page, queue, "both.ipynb")
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    choose(page, "Profile", "queue")
    choose(page, "Launcher", "srun")
    fill(page, "Time limit", "2-00:00:00")
    page.locator(".jp-Dtrain-fieldError").get_by_text("main ends jobs at 01:00:00").wait_for()
    choose(page, "Partition", "main")
    page.locator(".jp-Dtrain-submitReport").get_by_role("tab", name="Job file").click()
    page.locator(".jp-Dtrain-lineMark").get_by_text("Ask for at most 01:00:00.").wait_for()
    shot(page, "submit-never")
    page.locator(".jp-Dtrain-submitForm").get_by_role("button", name="Set 01:00:00").click()
    page.locator(".jp-Dtrain-submitBar").get_by_role("button", name="Save for later").click()
    page.locator(".jp-Dtrain-submitBar").get_by_role("button", name="Saved").wait_for()
    page.locator(".lm-TabBar-tab.lm-mod-current .lm-TabBar-tabCloseIcon:visible").last.click()
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    page.locator(".jp-Dtrain-submitForm").get_by_text("as you saved it for later").wait_for()
    assert page.locator(".jp-Dtrain-submitForm").get_by_label("Time limit").input_value() == "01:00:00"
    parameters(page, "steps = 10000\nfails = -1\npause = 0.02")
    fill(page, "Name", "by-srun")
    bar = page.locator(".jp-Dtrain-submitBar")
    bar.get_by_text("2 nodes × 1 = 2 ranks").wait_for()
    report = page.locator(".jp-Dtrain-submitReport")
    report.get_by_role("button", name="Check again").click()
    bar.get_by_text("of the 100.0 CPU-hours that are left").wait_for()
    shot(page, "submit-hours")
    report.get_by_role("tab", name="Job file").click()
    report.get_by_text("#SBATCH --nodes=2").wait_for()
    view = submit(page)
    view.get_by_text("rank 0 local 0 of 2").wait_for(timeout=90_000)
    view.get_by_role("status").get_by_text("Training. All 2 ranks keep pace.").wait_for(timeout=60_000)
    view.get_by_text("Throughput, samples/s").wait_for(timeout=60_000)
    view.get_by_text("communication").wait_for()
    shot(page, "job-slurm")
    view.get_by_role("button", name="Cancel…").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Cancel job").click()
    view.get_by_role("status").get_by_text("Cancelled").wait_for(timeout=60_000)

    view.get_by_role("button", name="Duplicate…").click()
    form = page.locator(".jp-Dtrain-submitForm:visible")
    form.get_by_text("Filled in from job").wait_for()
    choose(page, "Launcher", "torchrun")
    parameters(page, "steps = 30\nfails = 27\npause = 0.02")
    fill(page, "Name", "by-torchrun")
    report.get_by_role("tab", name="Job file").click()
    report.get_by_text("torch.distributed.run").wait_for()
    view = submit(page)
    view.get_by_role("alert").get_by_text("rank 1 failed in cell [4]").wait_for(timeout=90_000)
    view.get_by_role("button", name=f"cell [4], line {FAILING_LINE}").wait_for()
    view.get_by_role("button", name="Resume from step 25").click()
    again = page.locator(".jp-Dtrain-jobView:visible")
    again.get_by_text("goes on from 25").first.wait_for(timeout=90_000)


LOOP = """%%distributed
import os, time, torch, torch.distributed as dist
def step(x, i):
    y = x * 2
    dist.all_reduce(y)
    return y
i = 0
while not os.path.exists("/tmp/never"):
    i += 1
    step(torch.ones(2) * rank, i)
    time.sleep(0.01)"""


@pytest.mark.hosts
def test_a_running_job_of_two_nodes_is_debugged_from_its_notebook(queue: Lab, page: Any) -> None:
    """Its ranks stop at the notebook's own breakpoint, step over a collective, and go on."""
    # one that failed leaves its job and its tabs behind
    name = f"looped-{len(queue.request('GET', 'jobs'))}"
    write(queue.work / f"{name}.ipynb", [LOOP])
    open_notebook(page, queue, f"{name}.ipynb")
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    choose(page, "Profile", "queue")
    fill(page, "Name", name)
    fill(page, "Time limit", "00:30:00")  # without one, the account's hours would not do
    view = submit(page)
    view.get_by_role("status").get_by_text("2 ranks").wait_for(timeout=90_000)
    view.get_by_role("button", name="Debug").click()
    page.locator(".jp-DebuggerBugButton:visible").click()
    ranks = page.locator(".jp-Dtrain-debugRanks")
    ranks.get_by_text("2 ranks run.").wait_for(timeout=60_000)
    cell = page.locator(".jp-Notebook:visible .jp-CodeCell").first
    cell.locator(".cm-breakpoint-gutter").first.wait_for()
    toggle_breakpoint(page, cell, 5)
    # a rank may be past the line when it is told of it: then it waits in this pass's collective for the other
    sentence = ranks.get_by_text(re.compile(r"Paused on 2 ranks\.|waits in all_reduce"))
    sentence.first.wait_for()
    if "waits in" in sentence.first.inner_text():
        execute(page, "debugger:continue")
        ranks.get_by_text("Paused on 2 ranks.").wait_for()
    stack(page, 5)
    execute(page, "debugger:next")
    stack(page, 6)
    shot(page, "debugger-job")
    toggle_breakpoint(page, cell, 5)
    page.locator(".jp-Dtrain-debugPoints li").first.wait_for(state="detached")
    execute(page, "debugger:continue")
    ranks.get_by_text("2 ranks run.").wait_for()
    page.locator(".jp-DebuggerBugButton:visible").click()
    jobs = queue.request("GET", "jobs")
    looped = next(job for job in jobs if job["name"] == name)
    assert looped["state"] == "running", "it goes on"
    queue.request("POST", f"jobs/{looped['id']}/cancel")
