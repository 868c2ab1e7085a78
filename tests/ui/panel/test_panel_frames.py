"""States as frames to a real page: what panel and Ranks view say, where it stands, and what answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ui.conftest import open_notebook, shot
from tests.ui.feed import Feed, run_feed, training
from tests.ui.lab import TOKEN, Lab
from tests.ui.notebook.debugging import in_view

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(240)]
RUN = "command => void window.jupyterapp.commands.execute(command)"
BOX = "e => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; }"
ADVICE = {
    "id": "accumulate",
    "change": "Accumulate",
    "gain": 1.09,
    "gain_error": 0.01,
    "cost": "",
    "diff": "--- cell\n+++ cell\n@@ -1,2 +1,2 @@\n for x in loader:\n-    loss.backward()\n"
    "+    (loss / 2).backward()",
    "values": {"every": 2, "times": 2, "root": "1.4", "batch": 512},
}
SLOW = {
    "id": "slow-37",
    "kind": "slow",
    "code": "slow",
    "values": {"ranks": "37", "count": 63, "over_s": 0.08},
    "text": "Rank 37 is slow. 63 ranks wait for it.",
    "ranks": [37],
    "hint": "80 ms a step longer than the others.",
}
LOST = {"rank": 1, "why": "Killed by signal 9 (SIGKILL).", "at": 0.0, "cell": "[7]", "last": "step 9"}


class Screen:
    """A page whose clusters are what a test sends."""

    def __init__(self, page: Any, feed: Feed, template: dict[str, Any]) -> None:
        self.page = page
        self.panel = page.get_by_role("region", name="Distributed training")
        self._feed = feed
        self._template = template
        self._seq = 0

    def send(self, size: int, slow: int | None = None, **changes: Any) -> None:
        """One frame of a training cluster, with some of its fields changed; none of size 0."""
        self._seq += 1
        frame = training(self._seq, max(1, size), self._template, slow)
        cluster = {**frame["clusters"][0], **changes}
        self._feed.send({**frame, "clusters": [cluster] if size else []})

    def drop(self) -> None:
        """The server is gone."""
        self._feed.drop()

    def until(self, seen: Any, size: int, **changes: Any) -> None:
        """Frames at the server's pace until something is seen."""
        for _ in range(120):
            self.send(size, **changes)
            if seen.count() and seen.first.is_visible():
                return
            self.page.wait_for_timeout(300)
        raise AssertionError(f"not seen: {seen}")

    def width(self, pixels: int) -> None:
        """Drag the sidebar's edge."""
        handle = self.page.locator("#jp-main-split-panel > .lm-SplitPanel-handle:not(.lm-mod-hidden)").first
        left, top, _, bottom = self.page.locator("#jp-left-stack").evaluate(BOX)
        edge = handle.bounding_box()
        self.page.mouse.move(edge["x"] + edge["width"] / 2, (top + bottom) / 2)
        self.page.mouse.down()
        self.page.mouse.move(left + pixels, (top + bottom) / 2, steps=3)
        self.page.mouse.up()


@pytest.fixture(scope="module")
def template(lab: Lab) -> dict[str, Any]:
    """A cluster as the server tells of it; it need not run, nor take the page's share of the machine."""
    begun: dict[str, Any] = lab.request("POST", "clusters", {"ranks": 1})
    lab.tidy()
    return begun


@pytest.fixture
def screen(lab: Lab, page: Any, template: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[Screen]:
    page.afterwards.append(lab.tidy)
    with run_feed() as feed:
        # the server knows no such ranks: what the page asks of them is not what is tested
        page.route("**/dtrain-lab/clusters/*/history*", lambda route: route.fulfill(json=[]))
        page.add_init_script(feed.script)
        page.goto(f"{lab.url}/lab/workspaces/{request.node.name}?token={TOKEN}")
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('dtrain-lab:show-panel')")
        page.evaluate("() => window.jupyterapp.restored")
        page.locator(".jp-Launcher:focus").wait_for()  # takes the focus, however late it comes
        page.keyboard.press("Alt+Shift+D")
        screen = Screen(page, feed, template)
        screen.panel.wait_for()
        yield screen


def sideways(screen: Screen) -> list[str]:
    """What is wider than the panel."""
    found: list[str] = screen.panel.evaluate(
        """panel => [panel, ...panel.querySelectorAll('*')]
            .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'hidden'
              && getComputedStyle(e).display !== 'inline' && !e.matches('pre, input, .jp-DtrainUi-hidden'))
            .map(e => `${e.className || e.tagName}: ${e.scrollWidth} > ${e.clientWidth}`)"""
    )
    return found


def test_without_a_notebook_every_button_answers(screen: Screen) -> None:
    page, panel = screen.page, screen.panel
    screen.until(panel.get_by_text("No cluster is running."), 0)
    # Alt Shift D leads to what is to be done, also where the panel had to be asked for first
    panel.locator("button.jp-mod-primary:focus").wait_for()
    page.locator("#jp-main-statusbar").get_by_text("No cluster").wait_for()
    assert panel.get_by_text("No jobs yet.").is_visible()
    submit = panel.get_by_role("button", name="Submit")
    assert submit.get_attribute("aria-disabled") == "true"
    assert "open the notebook" in submit.get_attribute("title")
    submit.click(force=True)
    page.locator(".jp-toastContainer").get_by_text("First open the notebook you want to submit").wait_for()
    # by keyboard: into the dialog, round it, and back to the button that opened it
    panel.get_by_role("button", name="Start", exact=True).focus()
    page.keyboard.press("Enter")
    page.locator(".jp-Dialog select:focus").wait_for()
    page.keyboard.press("Shift+Tab")
    page.locator(".jp-Dialog-button.jp-mod-accept:focus").wait_for()
    page.keyboard.press("Escape")
    page.locator(".jp-Dialog").wait_for(state="detached")
    panel.locator("button[aria-label='Start']:focus").wait_for()
    panel.get_by_role("button", name="Profiles").click()
    panel.locator(".jp-DtrainCluster-profileList").get_by_role("button", name="Edit…").click()
    page.locator(".jp-Dialog textarea").fill("bakend = 1")
    page.get_by_role("button", name="Save").click()
    page.locator(".jp-Dialog [role=alert]").get_by_text("Did you mean backend?").wait_for()
    assert page.locator(".jp-Dialog textarea").input_value() == "bakend = 1"
    body = page.locator(".jp-Dialog-body")
    assert body.evaluate("e => e.scrollWidth <= e.clientWidth"), "it scrolls sideways"
    # what was typed is not lost unasked, neither by Escape nor by what Save refuses
    page.locator(".jp-Dialog textarea").press("Escape")
    page.get_by_text("Discard your changes to the profile local?").wait_for()
    page.keyboard.press("Escape")
    page.locator(".jp-Dialog textarea:focus").wait_for()
    assert page.locator(".jp-Dialog textarea").input_value() == "bakend = 1"
    page.locator(".jp-Dialog textarea").fill("")
    page.get_by_role("button", name="Save").click()
    page.locator(".jp-Dialog [role=alert]").get_by_text("local.toml sets nothing").wait_for()
    page.locator(".jp-Dialog textarea").fill("ranks_per_node = 2")
    page.locator(".jp-Dialog textarea").press("Enter")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("local is saved.").wait_for()
    # where a profile is edited it is deleted, too, and in the panel's menu
    panel.locator(".jp-DtrainCluster-profileList").get_by_role("button", name="Edit…").click()
    page.get_by_role("button", name="Show all keys, as in the user guide").click()
    in_view(page.locator(".jp-Dialog pre"))
    shot(page, "profile-editor")
    page.locator(".jp-Dialog").get_by_role("button", name="Delete…").click()
    page.get_by_text("local is the built-in profile again").wait_for()
    page.locator(".jp-Dialog").get_by_role("button", name="Cancel").click()
    page.locator(".jp-Dialog").get_by_text("Profile local", exact=True).wait_for()
    page.locator(".jp-Dialog").get_by_role("button", name="Cancel").click()
    page.locator(".jp-Dialog").wait_for(state="detached")
    panel.get_by_role("button", name="More", exact=True).first.click()
    page.get_by_role("menuitem", name="Delete a Profile…").click()
    page.locator(".jp-Dialog select").wait_for()
    page.get_by_role("button", name="Continue").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Delete", exact=True).click()
    page.get_by_text("local is deleted.").wait_for()
    panel.get_by_role("button", name="Open the quickstart notebook").click()
    page.get_by_text("that follow it are in the new folder dtrain-lab-examples.").first.wait_for()
    page.get_by_role("heading", name="Quickstart").first.wait_for()
    # before its kernel has started JupyterLab would end with an error, and after that ask whether to save
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.locator(".lm-TabBar-tab", has_text="quickstart").locator(".lm-TabBar-tabCloseIcon").click()
    page.locator(".jp-NotebookPanel").wait_for(state="detached")
    screen.send(0)
    panel.get_by_role("button", name="Insert").click()
    notebook = page.locator(".jp-NotebookPanel .jp-CodeCell")
    notebook.get_by_text("print(rank, device)").wait_for()
    page.locator(".jp-toastContainer").get_by_text("The 2 cells are in").wait_for()
    assert panel.get_by_role("button", name="Submit").get_attribute("aria-disabled") is None
    # the card of a cluster that is ready says how to run what it inserts
    ready = {"code": "ready", "values": {"count": 2}, "text": "Ready. 2 ranks wait for a cell."}
    insert = panel.get_by_role("button", name="Insert", exact=True)
    screen.until(insert, 2, summary=ready, running=[], metrics={})
    insert.click()
    panel.get_by_text("Run the new cell with Shift+Enter").wait_for()
    panel.get_by_role("button", name="Insert another").wait_for()


def test_training_slow_and_lost_at_eight(screen: Screen) -> None:
    page, panel = screen.page, screen.panel
    screen.width(300)
    metrics = {**training(1, 8, screen._template)["clusters"][0]["metrics"], "advice": [ADVICE]}
    running = [{"cell": "[7]", "notebook": "a.ipynb", "ranks": [0], "started_at": time.time() - 90}]
    headline = panel.get_by_text("Accumulate 2 batches: about 9")
    screen.until(headline, 8, metrics=metrics, running=running)
    panel.get_by_text("10k → 11k samples/s.").first.wait_for()
    panel.get_by_role("button", name="cell [7]").wait_for()
    rows = panel.locator("[data-rank]")
    for row in rows.all():  # glyphs stand on the middle of their line
        _, top, _, bottom = row.locator("th").evaluate(BOX)
        _, first, _, last = row.locator(".jp-DtrainUi-glyph").evaluate(BOX)
        assert abs((first + last) / 2 - (top + bottom) / 2) <= 1
    panel.get_by_role("button", name="Show the change").click()
    added = page.locator(".jp-Dialog [data-kind=added]")
    assert added.inner_text().strip() == "+     (loss / 2).backward()"
    page.locator(".jp-Dialog").get_by_role("button", name="Copy the new lines").click()
    page.locator(".jp-toastContainer").get_by_text("The new lines are on the clipboard.").wait_for()
    panel.get_by_role("button", name="Dismiss", exact=True).click()
    headline.wait_for(state="detached")
    more = {**running[0], "started_at": time.time() - 600}
    screen.until(panel.get_by_text("running for 10 min"), 8, metrics=metrics, running=[more])
    assert headline.count() == 0, "what was dismissed stays so"

    slow = panel.locator("[data-rank='5'][data-slow] [data-kind=slow]")
    screen.until(slow, 8, slow=5)
    assert rows.first.get_attribute("data-rank") == "5", "the slow rank comes first"

    ranks = training(1, 8, screen._template)["clusters"][0]["ranks"]
    ranks[1] = {**ranks[1], "state": "lost"}
    degraded = {
        "state": "degraded",
        "ranks": ranks,
        "lost": [{**LOST, "at": time.time()}],
        "without_lost": {"size": 7, "lost": [1], "replaced": [1], "ending": [7]},
        "summary": {"code": "lost", "values": {"ranks": "1", "failed": True}, "text": ""},
    }
    screen.until(panel.get_by_text("Rank 1 was lost. The cell has failed."), 8, **degraded)
    panel.get_by_text("7 ranks keep their variables and wait.").wait_for()
    facts = panel.locator(".jp-DtrainUi-facts").first.inner_text().replace("\xa0", " ")
    assert "gpu-00, cpu, in cell [7]" in facts
    assert "Killed by signal 9 (SIGKILL)." in facts
    panel.get_by_role("button", name="Go on with 7 ranks").click()
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_text("Rank 1 gets a new process with the variables of rank 7.").wait_for()
    dialog.get_by_role("button", name="Cancel").click()

    for width in (300, 250):
        screen.width(width)
        since = {**running[0], "started_at": time.time() - 60 * width}
        screen.until(panel.get_by_text(f"running for {width // 60} h"), 8, running=[since])
        assert sideways(screen) == [], width
    words = panel.get_by_role("button", name="Start").locator("[data-compact]")
    assert not words.is_visible(), "icons only below 290 px"
    shot(page, "narrow")

    screen.send(8)
    screen.drop()
    panel.get_by_text("No connection to the server.").wait_for()
    page.context.set_offline(True)  # not before: a browser that is offline does not hear of a closed socket
    panel.get_by_text("Was training at").wait_for()
    assert panel.get_by_text("keep pace").count() == 0, "nothing is said of now"
    shot(page, "offline")
    page.context.set_offline(False)


def test_squares_by_keyboard_and_charts_on_one_line(screen: Screen) -> None:
    page, panel = screen.page, screen.panel
    node = panel.get_by_role("rowheader", name="gpu-00")
    screen.until(node, 64, slow=37)
    assert panel.locator(".jp-DtrainRanks-nodes [tabindex='0']").count() == 1, "one tab stop"
    node.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    screen.until(panel.locator("[data-square='9'][aria-selected='true']"), 64, slow=37)
    page.keyboard.press("End")
    panel.locator(".jp-DtrainRanks-nodeCount:focus").wait_for()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Enter")
    screen.until(panel.locator("[data-rank='7']"), 64, slow=37)
    height = panel.locator("[data-square='0']").evaluate("e => e.getBoundingClientRect().height")
    assert height >= 24

    page.evaluate(RUN, "dtrain-lab:show-ranks")
    view = page.locator(".jp-DtrainUi-view")
    metrics = {**training(1, 64, screen._template)["clusters"][0]["metrics"], "verdicts": [SLOW]}
    screen.until(view.locator("[data-row='37'][data-slow]"), 64, slow=37, metrics=metrics)
    screen.until(view.get_by_role("button", name="Show its stack"), 64, slow=37, metrics=metrics)
    first, second = (chart.evaluate(BOX) for chart in view.locator(".jp-DtrainRanks-chart").all()[:2])
    assert (first[1], first[3]) == (second[1], second[3]), "charts stand on one baseline"
    top, action = (
        view.locator(place).first.evaluate(BOX) for place in (".jp-DtrainUi-sentence", ".jp-DtrainUi-actions")
    )
    assert action[0] > top[0], "actions stand beside the sentence"
    assert action[1] < top[3]
    rows = view.locator("[data-row]")
    assert rows.first.get_attribute("data-row") == "37", "the slowest comes first"
    page.locator("#jp-main-statusbar").get_by_text("rank 37 is slow").wait_for()
    table = view.locator(".jp-DtrainRanks-table")
    assert table.evaluate("e => [...e.querySelectorAll('*')].filter(x => x.tabIndex === 0).length") == 1
    rows.first.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.closest('[role=columnheader]').innerText") == "Node"
    page.keyboard.press("ArrowDown")
    table.locator("[data-row]:focus").wait_for()
    view.locator("[data-square='0']").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.square") == "8"
    assert view.evaluate("e => e.scrollWidth <= e.clientWidth")
    shot(page, "ranks-64")
    size = page.viewport_size
    page.set_viewport_size({"width": 1024, "height": 768})
    whole = "e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight"
    page.wait_for_function(whole, arg=table.element_handle())  # the view scrolls, not the table
    page.set_viewport_size(size)

    map_of = panel.get_by_role("listbox")
    screen.until(map_of, 256, slow=37)
    map_of.focus()
    page.keyboard.press("End")
    screen.until(panel.get_by_role("option", name="Rank 255 on gpu-31"), 256, slow=37)
    page.keyboard.press("ArrowUp")
    screen.until(panel.get_by_role("option", name="Rank 223 on gpu-27"), 256, slow=37)


def test_picker_and_submit_stay_where_a_notebook_has_a_small_toolbar(lab: Lab, page: Any) -> None:
    open_notebook(page, lab, lab.notebook("narrow.ipynb", ["print(1)"]))
    bar = page.locator(".jp-NotebookPanel-toolbar")
    picker, submit = bar.locator("> .jp-DtrainNotebook-picker"), bar.locator("> .jp-DtrainNotebook-submit")
    name = picker.locator(".jp-DtrainNotebook-name")
    page.wait_for_function(f"e => ({BOX})(e)[2] - ({BOX})(e)[0] > 20", arg=name.element_handle())
    page.set_viewport_size({"width": 1024, "height": 768})
    page.evaluate(RUN, "application:toggle-right-area")
    more = bar.locator("> [data-jp-item-name='toolbar-popup-opener']")
    more.wait_for()
    for item in (picker, submit):
        item.wait_for()
        left, _, right, _ = item.evaluate(BOX)
        assert 24 <= right - left <= 40, "an icon"
        assert right <= more.evaluate(BOX)[0]
    assert picker.get_by_role("button", name="No cluster").get_attribute("title")
    page.evaluate(RUN, "application:toggle-right-area")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function(f"e => ({BOX})(e)[2] - ({BOX})(e)[0] > 20", arg=name.element_handle())
    submit.get_by_text("Submit").wait_for()
