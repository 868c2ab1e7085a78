"""Jobs as a browser shows them: a long list drawn, a line from its print to the page."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from msgspec.structs import replace
from playwright.sync_api import sync_playwright

from benchmarks.measure import Row
from dtrain_lab.services.index.store import JobIndex
from tests.books import write
from tests.ui.conftest import open_notebook
from tests.ui.lab import CHROMIUM_FLAGS, Lab, chromium, run_lab
from tests.waiting import wait_until

JOBS = 1000
FIRST, AGAIN = 5, 7
LINES = 100
PRINTS = f"""import time
time.sleep(3)
for i in range({LINES}):
    # words: lines that differ in numbers only are folded into one
    print("AT", time.time(), chr(97 + i // 26) + chr(97 + i % 26), flush=True)
    time.sleep(0.05)"""
DRAW = """async () => {
  const all = () => Number(/\\d+/.exec(
    document.querySelector('.jp-DtrainUi-chips button')?.textContent ?? '0')?.[0]);
  const inView = () => {
    const last = [...document.querySelectorAll('.jp-DtrainJob-table tr[data-job]')].pop();
    return last?.getBoundingClientRect().bottom >= innerHeight;
  };
  const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
  const began = performance.now();
  await window.jupyterapp.commands.execute('dtrain-lab:show-jobs');
  while (!inView()) await frame();
  await frame();
  const drawn = performance.now() - began;
  while (all() < COUNT) await frame();
  return [drawn, performance.now() - began];
}""".replace("COUNT", str(JOBS))
"""Opens the list: milliseconds until the rows in view are drawn, and until all jobs are counted in it."""
WATCH = """() => {
  window.lineDelays = [];
  const seen = new Set();
  new MutationObserver(() => requestAnimationFrame(() => {
    for (const row of document.querySelectorAll('.jp-DtrainJob-logRow')) {
      const found = /AT (\\d+\\.\\d+)/.exec(row.textContent);
      if (found && !seen.has(found[1])) {
        seen.add(found[1]);
        window.lineDelays.push(Date.now() / 1e3 - Number(found[1]));
      }
    }
  })).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def in_the_browser() -> list[Row]:
    """Both, in a real JupyterLab."""
    with (
        tempfile.TemporaryDirectory() as root,
        run_lab(Path(root) / "lab") as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        try:
            late = _line_delays(browser.new_page(), lab)
            first, counted, again = _list_drawn(browser, lab)
        finally:
            browser.close()
    return [
        Row(f"job: list of {JOBS:,} jobs opened, rows in view", f"{first * 1e3:.0f} ms", "–", first, 0.1),
        Row("job: the same, all jobs counted", f"{counted * 1e3:.0f} ms", "–", None, None),
        Row("job: the same list opened again", f"{again * 1e3:.0f} ms", "–", again, 0.1),
        Row("job: line printed → in the page, p95", f"{late * 1e3:.0f} ms", "–", late, 0.3),
    ]


def _submit(lab: Lab, name: str, code: str) -> dict[str, Any]:
    write(lab.work / f"{name}.ipynb", [code])
    job: dict[str, Any] = lab.request("POST", "jobs", {"notebook": f"{name}.ipynb", "ranks": 1, "name": name})
    return job


def _line_delays(page: Any, lab: Lab) -> float:
    open_notebook(page, lab, lab.notebook("first.ipynb", ["1"]))
    job = _submit(lab, "lines", PRINTS)
    page.evaluate(WATCH)
    page.evaluate(
        "args => void window.jupyterapp.commands.execute('dtrain-lab:open-job', args)",
        {"id": job["id"], "name": "lines"},
    )
    page.wait_for_function(f"() => window.lineDelays.length >= {LINES}", timeout=90_000)
    delays = sorted(page.evaluate("() => window.lineDelays"))
    return float(delays[int(0.95 * len(delays)) - 1])


def _list_drawn(browser: Any, lab: Lab) -> tuple[float, float, float]:
    """Seconds until the list's rows are drawn: those in view, all counted, and once it was open before."""
    job = _submit(lab, "small", "print('small')")
    wait_until(lambda: lab.request("GET", f"jobs/{job['id']}")["state"] == "succeeded", 60, "the job")
    store = JobIndex(Path(lab.environment["JUPYTER_DATA_DIR"]) / "dtrain-lab" / "jobs.sqlite")
    found = store.find(job["id"])
    assert found is not None
    record, seen = found
    for index in range(JOBS):
        copy = replace(record, id=f"{index:012x}", name=f"job-{index}")
        store.put(copy)
        assert seen is not None
        store.save_state(copy, replace(seen, id=copy.id, name=copy.name))
    first, again = [], []
    for index in range(FIRST):  # of a page that has never shown it
        page = browser.new_page()
        open_notebook(page, lab, lab.notebook(f"second-{index}.ipynb", ["1"]))
        first.append(page.evaluate(DRAW))
        for _ in range(AGAIN):
            page.evaluate("() => window.jupyterapp.shell.currentWidget.close()")
            again.append(page.evaluate(DRAW)[0])
        page.close()
    drawn, counted = (median(taken) / 1e3 for taken in zip(*first, strict=True))
    return drawn, counted, median(again) / 1e3
