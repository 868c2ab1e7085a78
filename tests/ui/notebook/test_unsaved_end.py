"""A notebook that was saved before its cell had ended, and one whose outputs a tool has stripped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.ui.conftest import open_notebook
from tests.ui.lab import PATIENCE, Lab
from tests.ui.panel.cells import output, run_cell
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]

START = "%load_ext dtrain_lab\n%distributed start --ranks 2 --name unsaved"
GOES_ON = """%%distributed
import pathlib, time
print("first", flush=True)
while not pathlib.Path("end").exists():
    time.sleep(0.05)
print("last")"""
RUN = "window.jupyterapp.shell.currentWidget.content.widgets[1].model.getMetadata('dtrain')"
SAVE = "window.jupyterapp.commands.execute('docmanager:save')"


def test_a_cell_that_had_ended_before_its_cluster_does_not_say_that_the_stop_ended_it(
    lab: Lab, page: Any
) -> None:
    open_notebook(page, lab, lab.notebook("unsaved.ipynb", [START, GOES_ON]))
    run_cell(page, 0)
    page.get_by_text("unsaved is ready").wait_for(timeout=60_000 * PATIENCE)
    run_cell(page, 1)
    output(page, 1).get_by_text("first").wait_for()
    page.wait_for_function(f"() => {RUN}?.state === 'running'")
    page.evaluate(SAVE)
    (lab.work / "end").touch()
    output(page, 1).get_by_text("last").wait_for()
    page.wait_for_function(f"() => {RUN}.state === 'done'")
    before = page.evaluate(RUN)
    lab.request("DELETE", "clusters/unsaved")
    wait_until(lambda: not lab.request("GET", "clusters"), 30, "the cluster to end")

    # neither the panel nor anything else asks how clusters have ended
    page.reload()
    bar = output(page, 1).locator(".jp-DtrainOutput-bar")
    bar.get_by_text("Output that was not saved is lost.").wait_for(timeout=60_000 * PATIENCE)
    bar.locator("svg[aria-label=done]").wait_for()
    after = page.evaluate(RUN)
    assert after == {**before, "partial": True}
    assert not output(page, 1).get_by_text("last").count()


def test_a_cell_without_output_and_number_shows_no_bar(lab: Lab, page: Any) -> None:
    path = lab.work / lab.notebook("stripped.ipynb", ["1", *["%%distributed\nprint(1)"] * 4])
    document = json.loads(path.read_text())
    for cell, state in zip(document["cells"][1:], ["done", "running", "failed", "waiting"], strict=True):
        cell["metadata"]["dtrain"] = {"run": "r.1", "state": state, "ranks": [0, 1], "cluster": "c"}
    document["cells"].append({**document["cells"][2], "id": "kept", "execution_count": 3})
    path.write_text(json.dumps(document))
    open_notebook(page, lab, path.name)
    # once how the last one ended is known not to be known, so it is of the others
    unknown = output(page, 5).get_by_text("The outcome of this run is not known here.")
    unknown.wait_for(timeout=60_000 * PATIENCE)
    for index in range(1, 5):
        assert not output(page, index).locator("visible=true").count(), index
