"""Hours of training with output in a real JupyterLab: memory of head, agent, ranks, kernel, server and page.

`BENCH_SOAK_HOURS` says how long; the memory after the first tenth is compared with that at the end.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import sync_playwright

from benchmarks.measure import Row, emit
from tests.ui.conftest import open_notebook
from tests.ui.lab import CHROMIUM_FLAGS, chromium, run_lab
from tests.ui.panel.cells import run_cell

SECONDS = float(os.environ.get("BENCH_SOAK_HOURS", "0.05")) * 3600
STEP_S = float(os.environ.get("BENCH_SOAK_STEP_S", "0.1"))
SAMPLES = 20
START = "%load_ext dtrain_lab\n%distributed start --ranks 4"
# ten steps a second leave the cores mostly idle: what is looked for is growth, not speed
TRAIN = f"""%%distributed
import time, torch
from torch.nn.parallel import DistributedDataParallel as DDP
model = DDP(torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
end, step = time.time() + {SECONDS + 120}, 0
while time.time() < end:
    loss = model(torch.randn(32, 64)).square().mean(); loss.backward()
    optimizer.step(); optimizer.zero_grad(); step += 1
    print(f"step {{step}} loss {{loss.item():.4f}}"); time.sleep({STEP_S})"""
KINDS = (
    ("dtrain_lab.head", "head"),
    ("dtrain_lab.node ", "agent"),
    ("dtrain_lab.", "ranks and fork server"),
    ("ipykernel_launcher", "kernel"),
    ("ipyparallel", "controller"),
)


def memory(page: Any, lab_pid: int) -> dict[str, float]:
    """MiB by kind of process, and the page's JavaScript heap after a collection."""
    sizes: dict[str, float] = {}
    for process in psutil.process_iter():
        try:
            if process.environ().get("DTRAIN_SOAK") != str(os.getpid()):
                continue
            command = " ".join(process.cmdline())
            kind = next((name for word, name in KINDS if word in f"{command} "), None)
            if kind is not None:
                sizes[kind] = sizes.get(kind, 0) + process.memory_info().rss / 2**20
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    sizes["server"] = psutil.Process(lab_pid).memory_info().rss / 2**20
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    sizes["page"] = metrics["JSHeapUsedSize"] / 2**20
    return sizes


def main() -> None:
    """Train, with the panel and the notebook open; take the memory from time to time."""
    os.environ["DTRAIN_SOAK"] = str(os.getpid())  # found again in what outlives its parents
    with (
        tempfile.TemporaryDirectory() as root,
        run_lab(Path(root) / "lab") as lab,
        sync_playwright() as playwright,
    ):
        listed = psutil.process_iter(["cmdline"])  # None of one that has just ended
        pid = next(p.pid for p in listed if f"--ServerApp.root_dir={lab.work}" in (p.info["cmdline"] or ()))
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 960})
        page.set_default_timeout(60_000)
        open_notebook(page, lab, lab.notebook("soak.ipynb", [START, TRAIN]))
        run_cell(page, 0)
        page.get_by_text("local-4 is ready").wait_for()
        page.evaluate("command => window.jupyterapp.commands.execute(command)", "dtrain-lab:show-panel")
        run_cell(page, 1)
        taken: list[dict[str, float]] = []
        began = time.time()
        for number in range(SAMPLES + 1):
            page.wait_for_timeout(max(0.0, began + number * SECONDS / SAMPLES - time.time()) * 1e3)
            taken.append(memory(page, pid))
            print(f"{time.time() - began:.0f} s", {k: round(v, 1) for k, v in taken[-1].items()}, flush=True)
        shown = page.locator(".jp-Notebook .jp-CodeCell").nth(1).inner_text()
        assert "step" in shown, "the cell shows nothing"
        clusters = lab.request("GET", "clusters")
        assert clusters[0]["running"], "the training ended early"
        browser.close()
    rows = []
    first, last = taken[SAMPLES // 10], taken[-1]
    for kind, size in sorted(last.items()):
        rows.append(
            Row(
                f"{SECONDS / 3600:g} h of training with output: growth of {kind} after the first tenth",
                f"{size - first[kind]:+.1f} MiB of {size:.0f}",
                "of its size",
                size / first[kind],
                1.2,
            )
        )
    emit(rows)


if __name__ == "__main__":
    main()
