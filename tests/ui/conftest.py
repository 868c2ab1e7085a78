from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.ui.lab import CHROMIUM_FLAGS, PATIENCE, TOKEN, Lab, chromium, run_lab

FAILED = pytest.StashKey[bool]()
LEFT = "Canceled future for execute_request message before replies were done"
"""JupyterLab's own, where a page is left or loaded anew before a cell's last message has come."""
WIDGETS = "@jupyter-widgets/jupyterlab-manager"
OURS = "/extensions/dtrain-lab/"
LACKS = "(JupyterLab has no "
"""What the page says of a name that this JupyterLab lacks (`src/jupyterlab/names.ts`): none may be."""
SHOTS = Path(os.environ.get("DTRAIN_LAB_SHOTS", Path(__file__).parents[2] / "docs" / "_shots"))


@pytest.fixture(autouse=True)
def jp_server_cleanup() -> None:
    """pytest-jupyter's, which is for servers inside the test process: there is none here."""


@pytest.fixture(autouse=True)
def jp_asyncio_loop() -> None:
    """pytest-jupyter's, too: Playwright runs a loop of its own here."""


@pytest.fixture(scope="package")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One for all modules: each start takes 4 s of processor."""
    root = tmp_path_factory.mktemp("lab")
    (root / "home").mkdir()
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(root / "home"))  # of its jobs
            running = stack.enter_context(run_lab(root))
        yield running


@pytest.fixture(scope="module")
def lab(shared_lab: Lab) -> Iterator[Lab]:
    """As it began: without files, settings, clusters, kernels and jobs of the module before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(shared_lab.work.parent / "home"))
        yield shared_lab
        shared_lab.begin_again()


@pytest.fixture(scope="package")
def playwright() -> Iterator[Any]:
    """Of this package only: while it lasts, its thread can run no other event loop."""
    from playwright.sync_api import sync_playwright

    if chromium() is None:
        pytest.skip("NO CHROMIUM: the browser tests did not run; see tests/system_packages.sh")
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Any) -> Iterator[Any]:
    """One for all modules; each test has a context, and so cookies, storage and a cache, of its own."""
    started = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
    yield started
    started.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where there is more patience than usual, a test has more time as a whole, too."""
    for item in items if PATIENCE > 1 else ():
        limit = item.get_closest_marker("timeout")
        if limit is not None and item.get_closest_marker("browser") is not None:
            item.add_marker(pytest.mark.timeout(limit.args[0] * PATIENCE), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """The page fixture keeps a picture of what failed."""
    report = yield
    if report.when in ("setup", "call"):
        item.stash[FAILED] = report.failed
    return report


def kernelless(error: Any) -> bool:
    """Whether this is ipywidgets' own error where a notebook is open without a kernel: it asks for its id."""
    return WIDGETS in (error.stack or "") and "reading 'kernel'" in str(error)


def cut_off(error: Any) -> bool:
    """Whether a request of JupyterLab's own failed, as of a page that is loaded anew: its polls go on."""
    return str(error) == "Failed to fetch" and OURS not in (error.stack or "")


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.problems = []
    page.afterwards = []  # once it is closed

    def hear(error: Any) -> None:
        if not kernelless(error) and not cut_off(error):
            page.problems.append(str(error))

    def hear_console(message: Any) -> None:
        if LACKS in message.text:
            page.problems.append(message.text)

    page.on("pageerror", hear)
    page.on("console", hear_console)
    page.set_default_timeout(40_000 * PATIENCE)
    yield page
    if request.node.stash.get(FAILED, False):
        shot(page, f"failed-{request.node.name}")
        used = {"lab", "queue"} & set(request.fixturenames)
        page.afterwards += [request.getfixturevalue(name).tidy for name in used]
    problems = [problem for problem in page.problems if problem != LEFT]
    context.close()  # a request that this cuts off may be reported as a failed one
    for follows in page.afterwards:
        follows()
    assert problems == []


def open_notebook(page: Any, lab: Lab, path: str) -> None:
    """Open a notebook and wait until its kernel answers.

    The toolbar says idle before the kernel is connected; the status bar only after.
    """
    workspace = path.removesuffix(".ipynb")
    page.goto(f"{lab.url}/lab/workspaces/{workspace}/tree/{path}?token={TOKEN}")
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()


def shot(page: Any, name: str) -> None:
    """Keep a picture for people to look at."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")
