"""Main-thread time of one sidebar update at 64 ranks, in Chromium, with frames as the server sends them."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.measure import Row, emit, middle
from tests.ui.lab import CHROMIUM_FLAGS, TOKEN, chromium, run_lab

RANKS = 64
FRAMES = 60


def frame(seq: int, template: dict[str, Any]) -> str:
    """A frame of a training world; every figure differs from the frame before."""
    ranks = []
    for index in range(RANKS):
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
    summary = {"code": "training", "values": {"total": RANKS}, "text": "Training."}
    cluster = {
        **template,
        "ranks": ranks,
        "metrics": metrics,
        "summary": summary,
        "world": {"size": RANKS, "generation": 0},
    }
    return json.dumps({"type": "clusters", "seq": seq, "clusters": [cluster]})


def main() -> None:
    """Feed frames to the panel in a real JupyterLab; read Chromium's account of its main thread."""
    with (
        tempfile.TemporaryDirectory() as root,
        run_lab(Path(root) / "lab") as lab,
        sync_playwright() as playwright,
    ):
        template = lab.request("POST", "clusters", {"ranks": 1})
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page()
        sockets: list[Any] = []
        page.route_web_socket("**/dtrain-lab/live*", lambda socket: sockets.append(socket))
        page.goto(f"{lab.url}/lab?token={TOKEN}")
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('dtrain-lab:show-panel')")
        # the layout is restored late, and would put another panel in front
        page.evaluate("() => window.jupyterapp.restored")
        page.evaluate("() => window.jupyterapp.commands.execute('dtrain-lab:show-panel')")
        page.get_by_role("region", name="Distributed training").wait_for()
        while not sockets:
            page.wait_for_timeout(50)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")

        def busy() -> float:
            metrics = session.send("Performance.getMetrics")["metrics"]
            return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

        page.on("pageerror", lambda error: print("page error:", error))
        drawn = "() => document.querySelectorAll('.jp-Dtrain-nodes li').length === 8"
        for seq in range(100):  # the panel may open its socket again while the page settles
            sockets[-1].send(frame(seq, template))
            page.wait_for_timeout(100)
            if seq > 10 and page.evaluate(drawn):
                break
        assert page.evaluate(drawn), "the panel does not show the frames"
        costs = []
        for repeat in range(5):
            idle_from, began = busy(), time.perf_counter()
            page.wait_for_timeout(FRAMES * 50)
            idle = (busy() - idle_from) / (time.perf_counter() - began)
            from_, began = busy(), time.perf_counter()
            for seq in range(FRAMES):
                sockets[-1].send(frame(100 + repeat * FRAMES + seq, template))
                page.wait_for_timeout(50)
            spent = busy() - from_ - idle * (time.perf_counter() - began)
            costs.append(spent / FRAMES)
        browser.close()
    cost = middle(costs)
    emit(
        [
            Row(
                f"sidebar update, main thread, {RANKS} ranks",
                f"{cost * 1e3:.1f} ms",
                "limit 8 ms",
                cost / 0.008,
                1.0,
            )
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
