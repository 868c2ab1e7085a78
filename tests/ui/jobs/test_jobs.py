"""Submit, follow, read an error, resume: in a real browser, on this machine's two simulated nodes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest

from tests import accounting
from tests.books import FAILING_LINE, training, write
from tests.fakes.gpus import Gpus, computing
from tests.faults import note
from tests.hosts import SLURM, need, running_hosts
from tests.ui.conftest import open_notebook, shot
from tests.ui.jobs.submit_form import fill, submit
from tests.ui.lab import PATIENCE, TOKEN, Lab, run_lab
from tests.ui.notebook.debugging import POINT, execute, in_view, stack, toggle_breakpoint
from tests.ui.panel.cells import TRAINING, output, run_cell
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(400)]


def parameters(page: Any, text: str) -> None:
    """All at once, as text."""
    form = page.locator(".jp-DtrainJob-submitForm:visible")
    as_text = form.get_by_role("button", name="Edit as text")
    if as_text.is_visible():
        as_text.click()
    fill(page, "Parameters", text)


def test_a_notebook_is_submitted_fails_by_its_cell_and_is_resumed(lab: Lab, page: Any) -> None:
    training(lab.work / "train.ipynb")
    open_notebook(page, lab, "train.ipynb")
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    form = page.locator(".jp-DtrainJob-submitForm")
    page.locator(".jp-DtrainJob-submitHead").get_by_text("Submit train.ipynb").wait_for()
    given = {name: form.get_by_label(name, exact=True).input_value() for name in ("steps", "fails", "pause")}
    assert given == {"steps": "5", "fails": "-1", "pause": "0.0"}
    fill(page, "steps", "0.0.5")
    fill(page, "Nodes", "-1")
    wrong = form.locator(".jp-DtrainJob-fieldError")
    wrong.get_by_text('"0.0.5" is not a number').wait_for()
    wrong.get_by_text("-1 is too low. Enter 1 or more.").wait_for()
    fill(page, "steps", "'6'")
    wrong.get_by_text("steps: '6' is text, as it is in quotes. Enter it without quotes.").wait_for()
    assert form.get_by_label("steps", exact=True).get_attribute("aria-invalid") == "true"
    assert form.get_by_label("fails", exact=True).get_attribute("aria-invalid") == "false"
    fill(page, "steps", "0.0.5")
    fill(page, "Ranks on each", "abc")
    wrong.get_by_text('"abc" is not a whole number.').wait_for()
    assert wrong.get_by_text("-1 is too low").is_visible(), "each says what is wrong with it"
    fill(page, "Ranks on each", "")
    bar = page.locator(".jp-DtrainJob-submitBar")
    bar.get_by_text("Fix 2 problems to submit").wait_for()
    bar.get_by_role("button", name="Submit").focus()
    page.keyboard.press("Enter")
    form.locator("[data-field='nodes']:focus").wait_for()
    beside_each_other(page)
    shot(page, "submit-fields")
    fill(page, "Nodes", "1")
    fill(page, "steps", "6")
    form.get_by_role("button", name="Edit as text").click()
    assert form.get_by_label("Parameters").input_value() == "steps = 6\nfails = -1\npause = 0.0"
    form.get_by_role("button", name="Nodes: one more").click()
    assert form.get_by_label("Nodes", exact=True).input_value() == "2"
    fill(page, "Ranks on each", "1")
    form.get_by_text("= 2 ranks").wait_for()
    fill(page, "Name", "first")
    parameters(page, "steps = 400\nfails = 320\npause = 0.02")
    report = page.locator(".jp-DtrainJob-submitReport")
    report.get_by_role("status").get_by_text("Ready to submit").wait_for()
    note = report.get_by_text("%load_ext dtrain_lab is left out.")
    assert not note.is_visible(), "what only is good to know is folded"
    report.get_by_text("2 notes").click()
    note.wait_for()
    code = report.locator(".jp-DtrainJob-code")
    code.get_by_text("# %% cell [1]").wait_for()
    assert "# %% preamble" not in code.inner_text(), "it opens at the user's first cell"
    shot(page, "submit-script")
    code.get_by_role("button", name="lines before your first cell").click()
    code.get_by_text("# %% preamble").wait_for()
    report.get_by_role("tab", name="Command").click()
    code.get_by_text("dtrain-lab submit").wait_for()
    report.get_by_role("tab", name="Job file").click()
    report.get_by_text("dtrain_lab.node ranks").first.wait_for()
    page.locator(".jp-DtrainJob-submitBar").get_by_text("2 nodes × 1 = 2 ranks").wait_for()
    shot(page, "submit")

    view = submit(page)
    view.get_by_role("status").get_by_text(TRAINING).wait_for(timeout=60_000 * PATIENCE)
    for rank in (0, 1):  # one line has both numbers, where they came within a second; else each has its own
        view.get_by_text(re.compile(f"rank (0…1|{rank}) local 0 of 2")).first.wait_for()
    assert page.locator(".lm-TabBar-tab [data-icon='dtrain-lab:job']").count() == 1
    view.get_by_role("button", name="Stacks").click()
    stacks = page.locator(".jp-DtrainStacks:visible")
    stacks.get_by_role("button", name="cell [4], line ").first.wait_for()
    page.locator(".lm-TabBar-tab", has_text="Stacks: first").locator(".lm-TabBar-tabCloseIcon").click()

    view.get_by_role("alert").get_by_text("rank 1 failed in cell [4]").wait_for(timeout=60_000 * PATIENCE)
    view.locator(".jp-DtrainJob-logRow").get_by_text("ValueError: the data ended early").wait_for()
    view.locator(".jp-DtrainJob-logRow").get_by_text("(follows from rank 1's error)").wait_for()
    assert page.locator(".Toastify__toast").get_by_text("first: Failed").count() == 0, "it is in view"
    shot(page, "job-failed")
    view.locator(".jp-DtrainJob-head").get_by_role("button", name=f"cell [4], line {FAILING_LINE}").click()
    page.get_by_text(f"Ln {FAILING_LINE}, Col 1").wait_for()

    page.locator(".lm-TabBar-tab", has_text="Job: first").click()
    view.get_by_role("button", name="Debug in a cluster").click()
    asked = page.locator(".jp-Dialog")
    asked.get_by_text("This notebook has no cluster").wait_for()
    asked.get_by_role("button", name="Not now").click()
    page.locator(".lm-TabBar-tab", has_text="Job: first").click()
    view.get_by_role("button", name="Resume from step 320").click()
    again = page.locator(".jp-DtrainJob-view:visible")
    again.get_by_text("Resumed from").wait_for()
    again.get_by_text("goes on from 320").wait_for(timeout=60_000 * PATIENCE)

    page.evaluate("() => window.jupyterapp.commands.execute('dtrain-lab:show-jobs')")
    jobs = page.locator(".jp-DtrainJob-table")
    jobs.locator("tr[data-job]").nth(1).wait_for()
    page.locator(".lm-TabBar-tab.jp-mod-current", has_text="Jobs").wait_for()  # it has the keys, too
    assert jobs.locator("tr[data-job]").count() == 2
    page.get_by_label("Filter jobs").fill("fail")
    jobs.locator("tr[data-state='failed']").nth(1).wait_for()  # it meets the same step again
    assert page.locator(".lm-TabBar-tab [data-icon='dtrain-lab:jobs']").count() == 1
    shot(page, "jobs")
    execute(page, "dtrain-lab:show-panel")
    item = page.locator(".jp-DtrainJob-item").last
    item.wait_for()
    name, under = item.locator("b"), item.locator(".jp-DtrainUi-under")
    assert name.evaluate("e => e.scrollWidth <= e.clientWidth"), "its name is whole"
    assert under.bounding_box()["y"] >= name.bounding_box()["y"] + name.bounding_box()["height"] - 1
    shot(page, "jobs-sidebar")


def beside_each_other(page: Any) -> None:
    """Form and report, where there is room; else the check above the form, and what will run below it."""
    size = page.viewport_size
    form, report = page.locator(".jp-DtrainJob-submitForm"), page.locator(".jp-DtrainJob-submitReport")
    assert report.bounding_box()["x"] >= form.bounding_box()["x"] + form.bounding_box()["width"] - 1
    page.set_viewport_size({"width": 1199, "height": size["height"]})
    page.wait_for_function(
        """() => {
            const box = name => document.querySelector(`.jp-DtrainJob-${name}`).getBoundingClientRect();
            const form = box('submitForm');
            const preview = document.querySelector('.jp-DtrainJob-preview')?.getBoundingClientRect();
            return box('check').bottom <= form.top + 1 && (!preview || preview.top >= form.bottom - 1);
        }"""
    )
    # and so goes the keyboard
    order = page.locator(".jp-DtrainJob-submitPages").evaluate(
        """pages => ['check', 'submitForm', 'preview']
            .map(name => pages.querySelector(`.jp-DtrainJob-${name}`))
            .every((e, i, all) => !i || !e || !!(all[i - 1].compareDocumentPosition(e) & 4))"""
    )
    assert order, "the Tab key goes through the form before the check above it"
    page.set_viewport_size(size)


def test_problems_stop_a_submission_and_lead_to_their_cell(lab: Lab, page: Any) -> None:
    name = lab.notebook("broken.ipynb", ["import torch", "print(1)\nx = undefined_thing", "input('?')"])
    open_notebook(page, lab, name)
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    report = page.locator(".jp-DtrainJob-submitReport")
    report.get_by_text("2 problems stop this job").wait_for()
    bar = page.locator(".jp-DtrainJob-submitBar")
    assert bar.get_by_role("button", name="Submit").get_attribute("aria-disabled") == "true"
    bar.get_by_text("Fix 2 problems to submit").wait_for()
    fill(page, "Ranks on each", "9999")
    report.get_by_text("too many for this machine").wait_for()
    page.locator(".jp-DtrainJob-fieldError").get_by_text("too many for this machine").wait_for()
    fill(page, "Ranks on each", "1")
    shot(page, "submit-problems")
    report.get_by_role("button", name="cell [2], line 2").click()
    page.get_by_text("Ln 2, Col 1").wait_for()

    # the check follows the notebook as it is saved
    page.keyboard.press("Control+A")
    page.keyboard.type("x = 1")
    page.keyboard.press("Control+S")
    page.locator(".lm-TabBar-tab", has_text="Submit: broken").click()
    report.get_by_text("1 problem stops this job").wait_for()


def test_a_job_is_cancelled(lab: Lab, page: Any) -> None:
    ticks = "for n in range(9000):\n    print('tick', n, flush=True)\n    time.sleep(0.2)"
    name = lab.notebook("long.ipynb", [f"import time\nprint('begins')\n{ticks}"])
    open_notebook(page, lab, name)
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    view = submit(page)
    view.get_by_text("begins").wait_for(timeout=60_000 * PATIENCE)
    log = view.locator(".jp-DtrainJob-log")
    page.context.set_offline(True)
    log.get_by_text("No connection to the server.").wait_for()
    last = log.locator(".jp-DtrainJob-logRow").last.inner_text()
    began = time.monotonic()
    page.context.set_offline(False)
    log.get_by_text("No connection to the server.").wait_for(state="detached")
    page.wait_for_function(
        "last => [...document.querySelectorAll('.jp-DtrainJob-logRow')].at(-1).innerText !== last", arg=last
    )
    took = time.monotonic() - began
    fault = "the browser loses its network while the page shows a job's log"
    kept = "everything: the job continues, and the log resumes where it stopped"
    note(fault, "the page", "No connection to the server.", kept, "network back → the log continues", took)
    page.evaluate("() => window.jupyterapp.commands.execute('dtrain-lab:show-jobs')")
    page.get_by_text("Slots: in use and queued").click()
    slots = page.locator(".jp-DtrainJob-slots")
    slots.get_by_text("slots are free").wait_for()
    shot(page, "slots")
    slots.get_by_role("button", name="job long").click()
    view.get_by_role("button", name="Cancel…").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Cancel job").click()
    view.get_by_role("status").get_by_text("Cancelled after").wait_for(timeout=60_000 * PATIENCE)
    finds(view, page)


def finds(view: Any, page: Any) -> None:
    """Its log is searched from what is in view on, then from its start; a filter that can't be is said."""
    view.get_by_role("button", name="End", exact=True).wait_for()  # it has ended: there is nothing to follow
    find = view.get_by_label("Find in the log")
    for text, row in (("tick 3", "tick 3"), ("Begins", "begins")):
        find.fill(text)
        find.press("Enter")
        view.locator(".jp-DtrainJob-logRow[data-hit]").get_by_text(row).first.wait_for()
    assert view.locator("mark").first.inner_text() == "begins"
    # also where the beginning is here already
    for button, text in (("End", "tick"), ("Beginning", "begins")):
        view.get_by_role("button", name=button, exact=True).click()
        view.locator(".jp-DtrainJob-logRow").get_by_text(text).first.wait_for()
    rows = view.get_by_role("log")
    page.wait_for_function("rows => rows.scrollTop === 0", arg=rows.element_handle())
    find.fill("nowhere")
    find.press("Enter")
    view.get_by_title('"nowhere" is not in the log.').get_by_text("No match").wait_for()
    shot(page, "job-find")
    view.get_by_label("Ranks", exact=True).fill("7-9")
    view.get_by_text("There is no rank 7").wait_for()
    view.locator(".jp-DtrainJob-logRow").first.wait_for(state="detached")
    view.get_by_label("Ranks", exact=True).fill("0")
    view.locator(".jp-DtrainJob-logRow").first.wait_for()


DIVIDES = """%%distributed
import torch.distributed as dist
def bad(n):
    secret = 40 + n
    return 1 / (n - 1)
bad(rank)
dist.barrier()"""


def test_a_failed_job_is_debugged_in_a_cluster_that_is_started_for_it(lab: Lab, page: Any) -> None:
    """From the failed job to the variables of the rank that failed; no cluster runs before."""
    name = lab.notebook("divides.ipynb", [DIVIDES])
    open_notebook(page, lab, name)
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    fill(page, "Ranks on each", "2")
    view = submit(page)
    view.get_by_role("alert").get_by_text("rank 1 failed in cell [1]").wait_for(timeout=60_000)
    assert lab.request("GET", "clusters") == []
    view.get_by_role("button", name="Debug in a cluster").click()
    asked = page.locator(".jp-Dialog")
    asked.get_by_text("This notebook has no cluster").wait_for()
    asked.get_by_role("button", name="Start a cluster…").click()
    asked.get_by_text("This notebook has no cluster").wait_for(state="detached")
    assert asked.get_by_label("Ranks", exact=True).input_value() == "2", "as many as the job has"
    asked.get_by_role("button", name="Start", exact=True).click()
    ranks = page.locator(".jp-DtrainDebug-ranks")
    ranks.get_by_text("2 ranks").first.wait_for(timeout=60_000)
    page.get_by_text("Run its cells: where a rank fails").first.wait_for(timeout=60_000)
    (cluster,) = lab.request("GET", "clusters")
    assert (cluster["world"]["size"], len(cluster["notebooks"])) == (2, 1), "and it is this notebook's"
    run_cell(page, 0)
    output(page, 0).get_by_text("Rank 1 failed: ZeroDivisionError").first.wait_for()
    look = ranks.get_by_role("button", name="Look where it failed")
    in_view(look)
    look.click()
    ranks.locator("[data-rank='1'][data-phase='paused']").wait_for()
    ranks.locator("[data-rank='1']").click()
    stack(page, 5)
    page.locator(".jp-DebuggerVariables").get_by_text("secret").wait_for()
    shot(page, "job-debugged")
    lab.request("DELETE", f"clusters/{cluster['id']}")


def test_the_form_follows_the_notebook(lab: Lab, page: Any) -> None:
    """A parameter that nobody has changed is the notebook's, also after it was edited and saved."""
    training(lab.work / "follow.ipynb")
    open_notebook(page, lab, "follow.ipynb")
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    form = page.locator(".jp-DtrainJob-submitForm")
    form.get_by_label("steps", exact=True).fill("7")
    page.locator(".lm-TabBar-tab", has_text="follow.ipynb").first.click()
    cell = page.locator(".jp-Notebook .jp-CodeCell", has_text="fails = -1").locator(".cm-content")
    cell.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("steps = 50\nfails = 40\nmomentum = 0.9")
    page.keyboard.press("Control+S")
    page.locator(".lm-TabBar-tab", has_text="Submit: follow").click()
    form.get_by_label("momentum", exact=True).wait_for()
    given = {
        name: form.get_by_label(name, exact=True).input_value() for name in ("steps", "fails", "momentum")
    }
    assert given == {"steps": "7", "fails": "40", "momentum": "0.9"}
    assert form.get_by_label("pause", exact=True).count() == 0, "the notebook has it no more"
    report = page.locator(".jp-DtrainJob-submitReport")
    report.get_by_role("tab", name="Command").click()
    report.get_by_text("--param steps=7").wait_for()
    assert "fails" not in report.locator(".jp-DtrainJob-code").inner_text()


def test_a_reloaded_page_has_the_forms_with_what_was_typed(lab: Lab, page: Any) -> None:
    def is_kept(response: Any) -> bool:
        """The workspace with both forms is on the server."""
        sent = response.request.post_data or ""
        kept = "typed:dtrain-lab-submit" in sent and "typed:dtrain-lab-new-sweep" in sent
        return "/workspaces" in response.url and response.request.method == "PUT" and kept

    training(lab.work / "reload.ipynb")
    training(lab.work / "gone.ipynb")
    open_notebook(page, lab, "reload.ipynb")
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").dblclick()
    fill(page, "steps", "7")
    opens = "void window.jupyterapp.commands.execute('dtrain-lab:{}', {{path: '{}'}})"
    page.evaluate(opens.format("submit-notebook", "gone.ipynb"))
    page.locator(".jp-DtrainJob-submitHead:visible").get_by_text("Submit gone.ipynb").wait_for()
    with page.expect_response(is_kept):
        page.evaluate(opens.format("sweep-notebook", "reload.ipynb"))
        page.locator(".jp-DtrainSweep-formView [data-sweep=objective]").fill("accuracy")
    (lab.work / "gone.ipynb").unlink()
    page.reload()
    sought = page.locator(".jp-DtrainSweep-formView [data-sweep=objective]")
    wait_until(lambda: sought.input_value() == "accuracy", 60, "what was typed")
    shot(page, "form-restored")
    page.locator(".lm-TabBar-tab", has_text="Submit: reload").click()
    form = page.locator(".jp-DtrainJob-submitForm:visible")
    assert form.get_by_label("steps", exact=True).input_value() == "7"
    page.locator(".jp-DtrainJob-submitHead:visible").get_by_text("Filled in as you left it.").wait_for()
    page.locator(".lm-TabBar-tab", has_text="Submit: gone").click()
    page.get_by_role("alert").get_by_text("gone.ipynb is not there any more").wait_for()
    shot(page, "form-gone")


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
            page.get_by_text("Slots: in use and queued").click()
            slots = page.locator(".jp-DtrainJob-slots")
            slots.get_by_text("1 of 2 slots are free").wait_for()
            slots.get_by_text(f"process {process.pid} python (prototype.ipynb)").wait_for()
            shot(page, "slots-gpus")
            slots.get_by_role("button", name=f"Stop process {process.pid}").click()
            dialog = page.locator(".jp-Dialog")
            dialog.get_by_text("everything in its memory is lost").wait_for()
            shot(page, "slots-stop")
            dialog.get_by_role("button", name="Stop").click()
            wait_until(lambda: process.status() == psutil.STATUS_ZOMBIE, 20, "the process to end")
            gpus.computes({})
            slots.get_by_text("2 of 2 slots are free").wait_for()
            page.goto("about:blank")  # before its server ends, or what it fetches then fails


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
        with run_lab(root, "--DtrainLabApp.poll_floor=1") as lab:
            folder = root / "config" / "dtrain-lab" / "profiles"
            folder.mkdir(parents=True)
            (folder / "queue.toml").write_text(
                f'backend = "slurm"\nworkdir = "{root}/shared"\nnodes = 2\nranks_per_node = 1\n'
            )
            yield lab


def choose(page: Any, label: str, value: str) -> None:
    page.locator(".jp-DtrainJob-submitForm").get_by_label(label, exact=True).select_option(value)


@pytest.mark.hosts
def test_a_notebook_runs_on_two_nodes_of_slurm_in_both_forms(queue: Lab, page: Any) -> None:
    """Followed, seen to train, failed by its cell, resumed, cancelled."""
    training(queue.work / "both.ipynb")
    open_notebook(page, queue, "both.ipynb")
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    choose(page, "Profile", "queue")
    choose(page, "Launcher", "srun")
    fill(page, "Time limit", "2-00:00:00")
    page.locator(".jp-DtrainJob-fieldError").get_by_text("main limits jobs to 01:00:00").wait_for()
    choose(page, "Partition", "main")
    page.locator(".jp-DtrainJob-submitReport").get_by_role("tab", name="Job file").click()
    page.locator(".jp-DtrainJob-lineMark").get_by_text("Ask for at most 01:00:00.").wait_for()
    shot(page, "submit-never")
    page.locator(".jp-DtrainJob-submitForm").get_by_role("button", name="Set 01:00:00").click()
    page.locator(".jp-DtrainJob-submitBar").get_by_role("button", name="Save for later").click()
    page.locator(".jp-DtrainJob-submitBar").get_by_role("button", name="Saved").wait_for()
    page.locator(".lm-TabBar-tab.lm-mod-current .lm-TabBar-tabCloseIcon:visible").last.click()
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    page.locator(".jp-DtrainJob-submitHead").get_by_text("what you saved for later").wait_for()
    assert page.locator(".jp-DtrainJob-submitForm").get_by_label("Time limit").input_value() == "01:00:00"
    parameters(page, "steps = 10000\nfails = -1\npause = 0.02")
    fill(page, "Name", "by-srun")
    bar = page.locator(".jp-DtrainJob-submitBar")
    bar.get_by_text("2 nodes × 1 = 2 ranks").wait_for()
    report = page.locator(".jp-DtrainJob-submitReport")
    report.get_by_role("button", name="Check again").click()
    bar.get_by_text("of the 100 CPU-hours left").wait_for()
    shot(page, "submit-hours")
    report.get_by_role("tab", name="Job file").click()
    report.get_by_text("#SBATCH --nodes=2").wait_for()
    view = submit(page)
    said = re.compile("rank 0(…1)? local 0 of 2")  # folded where both ranks' lines came within a second
    view.get_by_text(said).first.wait_for(timeout=90_000 * PATIENCE)
    view.get_by_role("status").get_by_text(TRAINING).wait_for(timeout=60_000 * PATIENCE)
    heading = re.compile(r"Throughput\s*\S+\s*samples.s")
    view.get_by_role("heading", name=heading).wait_for(timeout=60_000 * PATIENCE)
    shot(page, "job-slurm")
    view.get_by_role("button", name="Cancel…").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Cancel job").click()
    view.get_by_role("status").get_by_text("Cancelled").wait_for(timeout=60_000 * PATIENCE)

    view.get_by_role("button", name="Duplicate…").click()
    page.locator(".jp-DtrainJob-submitHead:visible").get_by_text("Filled in from job").wait_for()
    choose(page, "Launcher", "torchrun")
    parameters(page, "steps = 30\nfails = 27\npause = 0.02")
    fill(page, "Name", "by-torchrun")
    report.get_by_role("tab", name="Job file").click()
    report.get_by_text("torch.distributed.run").wait_for()
    view = submit(page)
    view.get_by_role("alert").get_by_text("rank 1 failed in cell [4]").wait_for(timeout=90_000 * PATIENCE)
    view.locator(".jp-DtrainJob-head").get_by_role("button", name=f"cell [4], line {FAILING_LINE}").wait_for()
    view.get_by_role("button", name="Resume from step 25").click()
    again = page.locator(".jp-DtrainJob-view:visible")
    again.get_by_text("goes on from 25").first.wait_for(timeout=90_000 * PATIENCE)


def test_names_beyond_ascii_go_the_whole_way(lab: Lab, page: Any) -> None:
    """Notebook, parameters, names in the kernel, the job's name, its output and its executed notebook."""
    path = "Größe π.ipynb"
    write(lab.work / path, [("größe = 2", "parameters"), "print('π', größe, überall)"])
    page.goto(f"{lab.url}/lab/workspaces/umlaut/tree/{quote(path)}?token={TOKEN}")
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    page.evaluate(
        """async () => {
            const panel = window.jupyterapp.shell.currentWidget;
            await panel.sessionContext.session.kernel.requestExecute({ code: 'überall = 1' }).done;
        }"""
    )
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    form = page.locator(".jp-DtrainJob-submitForm")
    assert form.get_by_label("größe", exact=True).input_value() == "2"
    report = page.locator(".jp-DtrainJob-submitReport")
    report.get_by_text("überall exists in the running kernel, but no cell defines it.").wait_for()
    parameters(page, "größe = 5\nüberall = 3")
    fill(page, "Name", "Größe 5")
    view = submit(page)
    view.locator(".jp-DtrainJob-logRow").get_by_text("π 5 3").first.wait_for(timeout=60_000 * PATIENCE)
    view.get_by_role("button", name="Open executed notebook").click(timeout=60_000 * PATIENCE)
    executed = page.locator(".jp-NotebookPanel:visible")
    executed.locator(".jp-OutputArea-output").get_by_text("π 5 3").wait_for()
    executed.get_by_role("button", name="No Kernel").wait_for()
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.context.model.dirty") is False
    assert not [s for s in lab.request("GET", "/api/sessions") if "Größe 5" in s["path"]], "without a kernel"
    (job,) = (job for job in lab.request("GET", "jobs") if job["notebook"] == path)
    assert job["name"] == "Größe 5"
    shot(page, "job-umlaut")


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
    view.get_by_role("status").get_by_text("2 ranks").wait_for(timeout=90_000 * PATIENCE)
    view.get_by_role("button", name="Debug").click()  # turns the notebook's debugger on
    ranks = page.locator(".jp-DtrainDebug-ranks")
    ranks.get_by_text("2 ranks run.").wait_for(timeout=60_000 * PATIENCE)
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
    page.locator(".jp-DtrainDebug-points li").first.wait_for(state="detached")
    execute(page, "debugger:continue")
    ranks.get_by_text("2 ranks run.").wait_for()
    page.locator(".jp-DebuggerBugButton:visible").click()
    jobs = queue.request("GET", "jobs")
    looped = next(job for job in jobs if job["name"] == name)
    assert looped["state"] == "running", "it goes on"
    queue.request("POST", f"jobs/{looped['id']}/cancel")


def test_the_debugger_ends_with_its_job(lab: Lab, page: Any) -> None:
    """A job that is cancelled while it is debugged does not run on in the sidebar, nor beside the lines.

    Also of a page that was loaded anew meanwhile. The user's breakpoints are there once it is on again.
    """
    cell = (
        "import time\nfor n in range(9000):\n    print('tick', n, flush=True)\n    time.sleep(0.2)\n"
        "    if n < 0:\n        break"
    )
    open_notebook(page, lab, lab.notebook("ticks.ipynb", [cell]))
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    view = submit(page)
    view.get_by_text("tick 3").first.wait_for(timeout=60_000 * PATIENCE)
    ranks = page.locator(".jp-DtrainDebug-ranks")
    point = page.locator(".jp-DtrainDebug-points li").get_by_text(re.compile("line.6$")).first
    with page.expect_response(
        lambda r: "/api/workspaces/" in r.url and "debugged-jobs" in (r.request.post_data or "")
    ):
        view.get_by_role("button", name="Debug").click()
        pause = ranks.get_by_role("button", name="Pause")
        pause.wait_for(timeout=90_000 * PATIENCE)
        code = page.locator(".jp-Notebook:visible .jp-CodeCell").first
        code.locator(".cm-breakpoint-gutter").first.wait_for()
        toggle_breakpoint(page, code, 6)
        point.wait_for()
        pause.click()
    ranks.get_by_text("Paused on").wait_for()
    page.reload()
    ranks.get_by_text("Paused on").wait_for()
    page.locator(".jp-DtrainDebug-marks [data-kind='paused']").wait_for()
    point.wait_for()
    (job,) = (job for job in lab.request("GET", "jobs") if job["notebook"] == "ticks.ipynb")
    lab.request("POST", f"jobs/{job['id']}/cancel")
    ranks.get_by_text("Job ticks has ended. The debugger is off.").wait_for(timeout=60_000 * PATIENCE)
    page.locator(".jp-DtrainDebug-marks [data-kind='paused']").wait_for(state="detached")
    assert ranks.get_by_role("button", name="Pause").count() == 0
    page.locator(".jp-DebuggerBugButton:visible[aria-pressed='false']").wait_for()
    page.wait_for_function("() => !window.jupyterapp.commands.isEnabled('debugger:pause')")
    assert page.evaluate("window.jupyterapp.commands.isEnabled('debugger:continue')") is False
    offered = page.evaluate(
        """() => ['debug-rank', 'continue-ranks', 'toggle-lockstep', 'compare-variable'].filter(
            id => window.jupyterapp.commands.isEnabled(`dtrain-lab:${id}`))"""
    )
    assert offered == [], "they would find no rank"
    page.locator(".jp-DebuggerBugButton:visible").click()
    code.locator(POINT).wait_for()
