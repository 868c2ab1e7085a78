"""A sweep of two-rank trials from the form to its end, in a real browser."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.books import write
from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import Lab
from tests.ui.notebook.debugging import execute

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(200)]

TRIAL = """import torch
import torch.distributed as dist
import dtrain_lab as dt
both = torch.ones(1)
dist.all_reduce(both)
for step in range(steps):
    dt.log(step, loss=lr * both.item() + 1 / (step + 1))
    with dt.checkpoint(step + 1) as folder:
        (folder / "rank.txt").write_text("done")"""


def bar(form: Any) -> str:
    """What the bar says beside its button."""
    said: str = form.locator(".jp-DtrainJob-submitBar [role=status]").text_content()
    return said


def check(form: Any, text: str) -> None:
    """Wait until the check says so above its findings."""
    form.locator(".jp-DtrainJob-check h2").get_by_text(text).wait_for()


def test_a_sweep_of_two_rank_trials_runs_from_the_form_to_its_end(lab: Lab, page: Any) -> None:
    write(lab.work / "search.ipynb", [("lr = 0.1\nsteps = 4\ndecay = 0.0", "parameters"), TRIAL])
    open_notebook(page, lab, "search.ipynb")
    execute(page, "dtrain-lab:sweep-notebook")
    form = page.locator(".jp-DtrainSweep-formView:visible")
    assert form.get_by_label("Name of the objective").input_value() == "loss", "as dt.log has it"
    begin = form.get_by_role("button", name="Start sweep")
    nothing = "No parameter varies yet. Give one a list of values or a range."
    check(form, nothing)
    assert bar(form) == nothing
    begin.focus()  # it answers, although nothing varies yet
    page.keyboard.press("Enter")
    form.get_by_role("alert").get_by_text("No parameter varies yet.").wait_for()
    form.get_by_label("How lr varies").select_option("list")
    form.get_by_label("Values of lr, with commas").fill("0.2, 0.1")
    form.get_by_label("Sampler").select_option("grid")
    form.get_by_label("Ranks on each", exact=True).fill("2")
    form.get_by_label("At once").fill("1")
    form.get_by_text("2 trials × 2 ranks").wait_for()
    check(form, "Ready to start")

    # what would keep it from beginning is told before anything starts
    form.get_by_label("Ranks on each", exact=True).fill("4000")
    check(form, "1 problem stops this sweep")
    assert "ranks are too many for this machine" in bar(form)
    slots = 8 * len(os.sched_getaffinity(0))
    form.get_by_label("Ranks on each", exact=True).fill(str(slots + 1))
    # as a job's, a trial's ranks may share slots, and this is told
    form.get_by_text(f"{slots + 1} ranks share the {slots} slots of this machine.").wait_for()
    check(form, "Ready, with 1 warning")
    form.get_by_label("Ranks on each", exact=True).fill("2")
    form.get_by_label("Name of the objective").fill("accuracy")
    form.get_by_role("status").get_by_text(
        'No trial would report "accuracy": dt.log is called with loss.'
    ).wait_for()
    assert form.get_by_role("button", name="Start sweep").get_attribute("aria-disabled") == "true"
    form.get_by_label("Name of the objective").fill("loss")
    check(form, "Ready to start")
    form.locator("button[aria-disabled='false']", has_text="Start sweep").click()

    view = page.locator(".jp-DtrainSweep-view:visible")
    view.get_by_role("status").get_by_text("2 of 2 trials done; best loss 0.45 in trial 1.").wait_for(
        timeout=90_000
    )
    rows = view.locator("tr[data-trial]")
    assert rows.evaluate_all("rows => rows.map(row => row.dataset.trial)") == ["1", "0"], "best first"
    assert view.locator(".jp-DtrainSweep-dot").count() == 2
    view.get_by_role("button", name="Run the best again from the beginning").wait_for()
    shot(page, "sweep")
    view.get_by_role("button", name="Open the best notebook").click()
    page.locator(".jp-NotebookPanel:visible").get_by_text("lr = 0.1").first.wait_for()

    execute(page, "dtrain-lab:show-jobs")
    jobs = page.locator(".jp-DtrainJob-table:visible")
    jobs.get_by_role("button", name="Show 2 trial jobs").click()
    jobs.get_by_role("button", name="search 1").wait_for()
    assert jobs.locator("tr[data-below]").count() == 2

    row = page.locator("tr[data-sweep]:visible")
    row.get_by_text("search", exact=True).click(button="right")
    page.get_by_role("menuitem", name="Delete…").click()
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_text("checkpoints, those of the best trial too").wait_for()
    shot(page, "sweep-delete")
    dialog.get_by_role("button", name="Delete").click()
    row.wait_for(state="detached")
    page.locator("tr[data-below]").first.wait_for(state="detached")
    page.get_by_role("tab", name="Sweep: search").wait_for(state="detached")
    page.get_by_text("No jobs yet. Open a notebook, and choose Submit.").wait_for()
