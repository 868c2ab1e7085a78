"""Main-thread time of updates of sidebar and Ranks view in Chromium, with frames as the server sends them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.measure import Row, emit, middle
from tests.ui.lab import CHROMIUM_FLAGS, TOKEN, chromium, run_lab

FRAMES = 40
SHOTS = os.environ.get("BENCH_SHOTS")
LIMITS = {
    ("sidebar", 64): 0.008,
    ("sidebar", 1024): 0.012,
    ("Ranks view", 64): 0.040,
    ("Ranks view", 1024): 0.040,
}


def frame(seq: int, size: int, template: dict[str, Any]) -> str:
    """A frame of a training world; every figure differs from the frame before."""
    ranks = []
    for index in range(size):
        wobble = ((seq * 7 + index * 13) % 10) / 1000
        ranks.append(
            {
                **template["ranks"][0],
                "rank": index,
                "node": f"gpu-{index // 8:02}",
                "local_rank": index % 8,
                "state": ("busy", "in collective")[(seq + index) % 2],
                "step": seq,
                "steps_per_s": 5 + wobble,
                "samples_per_s": 160 + wobble,
                "step_s": 0.2 + wobble,
                "wait_s": wobble,
                "comm_overhead": 0.2 + wobble,
                "comm_overhead_error": 0.05,
                "memory_bytes": 2**30 + seq,
            }
        )
    metrics = {
        **template["metrics"],
        "samples_per_s": 10240 + seq,
        "step_s": 0.2,
        "comm_overhead": 0.2 + seq / 1e4,
    }
    summary = {"code": "training", "values": {"total": size}, "text": "Training."}
    cluster = {
        **template,
        "ranks": ranks,
        "metrics": metrics,
        "summary": summary,
        "world": {"size": size, "generation": 0},
    }
    return json.dumps({"type": "clusters", "seq": seq, "clusters": [cluster]})


def measure(page: Any, sockets: list[Any], template: dict[str, Any], size: int) -> float:
    """Seconds of the main thread for one frame, idle time taken off; the median of five rounds."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def busy() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    seq = 0
    for _ in range(20):  # what is shown first costs more than what changes
        sockets[-1].send(frame(seq, size, template))
        page.wait_for_timeout(100)
        seq += 1
    assert page.evaluate(f"() => document.body.innerText.includes('{size} ranks')"), (
        "the frames are not shown"
    )
    costs = []
    for _ in range(5):
        idle_from, began = busy(), time.perf_counter()
        page.wait_for_timeout(2000)
        idle = (busy() - idle_from) / (time.perf_counter() - began)
        from_, began = busy(), time.perf_counter()
        for _ in range(FRAMES):
            sockets[-1].send(frame(seq, size, template))
            page.wait_for_timeout(80)
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
    ):
        template = lab.request("POST", "clusters", {"ranks": 1})
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 960})
        page.on("pageerror", lambda error: print("page error:", error))
        sockets: list[Any] = []
        page.route_web_socket("**/dtrain-lab/live*", lambda socket: sockets.append(socket))
        page.goto(f"{lab.url}/lab?token={TOKEN}")
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('dtrain-lab:show-panel')")
        # the layout is restored late, and would put another panel in front
        page.evaluate("() => window.jupyterapp.restored")
        run = "command => window.jupyterapp.commands.execute(command)"
        page.evaluate(run, "dtrain-lab:show-panel")
        page.get_by_role("region", name="Distributed training").wait_for()
        while not sockets:
            page.wait_for_timeout(50)
        for (view, size), limit in LIMITS.items():
            if view == "Ranks view" and size == 64:
                page.evaluate(run, "dtrain-lab:show-ranks")
                page.get_by_role("tab", name="File Browser").click()  # the sidebar is not measured with it
                page.locator(".jp-Dtrain-view").wait_for()
            cost = measure(page, sockets, template, size)
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
    sys.exit(main())
