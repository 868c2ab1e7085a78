"""Main-thread time of updates of sidebar and Ranks view in Chromium, with frames as the server sends them."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.measure import Row, emit, middle
from tests.ui.feed import Feed, run_feed, training
from tests.ui.lab import CHROMIUM_FLAGS, TOKEN, chromium, run_lab

FRAMES = 20
# four updates a second are the most that the panel's settings allow
EVERY_MS = 260
FASTEST = '{"updatesPerSecond": 4}'
SHOTS = os.environ.get("BENCH_SHOTS")
LIMITS = {
    ("sidebar", 64): 0.008,
    ("sidebar", 1024): 0.012,
    ("Ranks view", 64): 0.040,
    ("Ranks view", 1024): 0.040,
}


def measure(page: Any, feed: Feed, template: dict[str, Any], size: int) -> float:
    """Seconds of the main thread for one frame, idle time taken off; the median of five rounds."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def busy() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    seq = 0
    for _ in range(20):  # what is shown first costs more than what changes
        feed.send(training(seq, size, template))
        page.wait_for_timeout(EVERY_MS)
        seq += 1
    shown = page.evaluate("() => document.body.innerText").replace(",", "")  # 1,024 ranks
    assert f"{size} ranks" in shown, "the frames are not shown"
    costs = []
    for _ in range(5):
        idle_from, began = busy(), time.perf_counter()
        page.wait_for_timeout(2000)
        idle = (busy() - idle_from) / (time.perf_counter() - began)
        from_, began = busy(), time.perf_counter()
        for _ in range(FRAMES):
            feed.send(training(seq, size, template))
            page.wait_for_timeout(EVERY_MS)
            seq += 1
        costs.append((busy() - from_ - idle * (time.perf_counter() - began)) / FRAMES)
    return middle(costs)


def main() -> None:
    """Feed frames to a real JupyterLab; read Chromium's account of its main thread."""
    rows = []
    with (
        tempfile.TemporaryDirectory() as root,
        run_lab(Path(root) / "lab") as lab,
        sync_playwright() as playwright,
        run_feed() as feed,
    ):
        settings = Path(root) / "lab" / "settings" / "dtrain-lab"
        settings.mkdir()
        (settings / "panel.jupyterlab-settings").write_text(FASTEST)
        template = lab.request("POST", "clusters", {"ranks": 1})
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 960})
        page.on("pageerror", lambda error: print("page error:", error))
        page.add_init_script(feed.script)
        page.goto(f"{lab.url}/lab?token={TOKEN}")
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('dtrain-lab:show-panel')")
        # the layout is restored late, and would put another panel in front
        page.evaluate("() => window.jupyterapp.restored")
        run = "command => window.jupyterapp.commands.execute(command)"
        page.evaluate(run, "dtrain-lab:show-panel")
        page.get_by_role("region", name="Distributed training").wait_for()
        while not feed.watched:
            page.wait_for_timeout(50)
        for (view, size), limit in LIMITS.items():
            if view == "Ranks view" and size == 64:
                page.evaluate(run, "dtrain-lab:show-ranks")
                page.get_by_role("tab", name="File Browser").click()  # the sidebar is not measured with it
                page.locator(".jp-DtrainUi-view").wait_for()
            cost = measure(page, feed, template, size)
            if SHOTS:
                page.screenshot(path=f"{SHOTS}/{view.split()[0]}-{size}.png")
            rows.append(
                Row(
                    f"{view} update, main thread, {size} ranks",
                    f"{cost * 1e3:.1f} ms",
                    f"limit {limit * 1e3:g} ms",
                    cost / limit,
                    1.0,
                )
            )
        browser.close()
    emit(rows)


if __name__ == "__main__":
    main()
