"""What all tests share: folders of their own, and no process left behind."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

from dtrain_lab.machine.folders import RUNTIME_VARIABLE

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
os.environ["JUPYTER_PLATFORM_DIRS"] = "1"

settings.register_profile("any machine", deadline=None)  # 200 ms else, which a busy machine exceeds
settings.load_profile("any machine")

pytest_plugins = ["pytest_jupyter.jupyter_server", "tests.stuck"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Of `tests/ui/screens/test_states.py`; here, because pytest asks for options where it begins."""
    parser.addoption("--sheet", action="store_true", help="all states in all themes, for the contact sheet")
    parser.addoption("--state", default="", help="look at these states only: a-*")
    parser.addoption("--update-baselines", action="store_true", help="today's pictures become the baselines")


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Config, data and runtime folders that no user has, nor another run of tests."""
    root = tmp_path_factory.mktemp("jupyter")
    # sockets lie in it: a path that is short
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir="/tmp") as runtime:
        patch.setenv(RUNTIME_VARIABLE, runtime)
        for name in ("CONFIG", "DATA", "RUNTIME"):
            patch.setenv(f"JUPYTER_{name}_DIR", str(root / name.lower()))
        patch.setenv("IPYTHONDIR", str(root / "ipython"))
        yield root


@pytest.fixture(scope="session", autouse=True)
def no_signal_for_all() -> Iterator[None]:
    """A test never signals pid or group 1, 0 or -1: as root, SIGKILL to group 1 ends the whole machine."""

    def guarded(send: Callable[[int, int], None]) -> Callable[[int, int], None]:
        def send_to_one(pid: int, number: int) -> None:
            assert pid > 1, f"signal {number} to {pid} would reach processes that no test has started"
            send(pid, number)

        return send_to_one

    with pytest.MonkeyPatch.context() as patch:
        for name in ("kill", "killpg"):
            patch.setattr(os, name, guarded(getattr(os, name)))
        yield


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """What this process would have sent: (pid or group, signal). Nothing is sent.

    For tests in which only the code under test keeps a real signal from a process that is not the test's.
    """
    sent: list[tuple[int, ...]] = []
    for name in ("kill", "killpg"):
        monkeypatch.setattr(os, name, lambda *given: sent.append(given))
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda *given: sent.append(given), raising=False)
    return sent


def ours() -> list[psutil.Process]:
    """Processes of ours that run now, below this test run or orphaned by it."""
    found = []
    for process in psutil.process_iter(["cmdline", "status", "environ"]):
        command = process.info["cmdline"] or []
        environment = process.info["environ"] or {}
        mine = environment.get("JUPYTER_RUNTIME_DIR") == os.environ.get("JUPYTER_RUNTIME_DIR")
        named = any(part.startswith(("dtrain_lab.head", "dtrain_lab.node")) for part in command)
        if mine and named and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found
