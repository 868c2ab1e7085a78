"""Tests of JupyterLab with the extensions of others, in the environment of `python -m matrix beside`."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ui.conftest import (  # noqa: F401 # fixtures and a hook
    browser,
    jp_asyncio_loop,
    jp_server_cleanup,
    page,
    playwright,
    pytest_runtest_makereport,
)
from tests.ui.lab import Lab, run_lab

if importlib.util.find_spec("jupyter_server_ydoc") is None:
    collect_ignore_glob = ["test_*.py"]
RTC = "--YDocExtension.disable_rtc=False"
NO_RTC = "--YDocExtension.disable_rtc=True"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """JupyterLab with all that is installed; a module says in OPTIONS how it is started."""
    root = tmp_path_factory.mktemp("beside")
    (root / "home").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root / "home"))
        with run_lab(root, *request.module.OPTIONS) as running:
            yield running


@pytest.fixture(autouse=True)
def only_ours(request: pytest.FixtureRequest) -> Iterator[None]:
    """Faults of others in a page are theirs: what counts is whether our code is in the stack."""
    shown = request.getfixturevalue("page")
    stacks: dict[str, str] = {}
    shown.on("pageerror", lambda error: stacks.update({str(error): error.stack or ""}))
    yield
    shown.problems[:] = [p for p in shown.problems if "dtrain" in stacks.get(p, "dtrain")]


def watch_console(shown: Any) -> None:
    """Take errors of ours in the console for problems of a page."""

    def hear(message: Any) -> None:
        told = f"{message.text} {message.location.get('url', '')}"
        if message.type == "error" and "dtrain" in told.lower():
            shown.problems.append(told)

    shown.on("console", hear)
