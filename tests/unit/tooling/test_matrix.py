"""The matrix of environments: what a run leaves behind, and how its tests are read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import psutil
import pytest

from matrix import labs, tree
from matrix.__main__ import ENVIRONMENTS, ROOT, TESTS, page
from matrix.lowest import floors
from matrix.run import Ran, both, read, start
from tests.waiting import wait_until

CHILDREN = """
import subprocess, sys, time
wait = [sys.executable, "-c", "import time; time.sleep(600)"]
pids = [subprocess.Popen(wait, start_new_session=own).pid for own in (False, True)]
open("pids.part", "w").write(" ".join(map(str, pids)))
__import__("os").rename("pids.part", "pids")
time.sleep(600)
"""


def test_tests_can_be_interrupted_where_the_run_ignores_interrupts(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
        started = start([sys.executable, "-c", code], tmp_path, dict(os.environ))
        assert started.process.communicate(timeout=60)[0].strip() == "False"
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_part_that_is_ended_leaves_no_process_not_even_one_of_another_session(tmp_path: Path) -> None:
    started = start([sys.executable, "-c", CHILDREN], tmp_path, dict(os.environ))
    try:
        wait_until((tmp_path / "pids").exists, 60, "the children")
        children = [psutil.Process(int(pid)) for pid in (tmp_path / "pids").read_text().split()]
        assert len(started.left()) == 3
    finally:
        started.end()
    started.process.communicate()
    assert started.left() == []
    wait_until(lambda: not any(_runs(child) for child in children), 10, "the children to be gone")


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_part_that_was_ended_tells_what_had_passed_and_failed() -> None:
    text = (
        "FAILED tests/a.py::test_bad - x\nERROR tests/a.py::test_bad - y\n"
        "FAILED tests/a.py::test_slow[asked to end]\n2 failed, 12 passed in 3s\n"
    )
    first = read(text, 1, 9)
    assert first == Ran(12, ("test_bad", "test_slow[asked to end]"))
    assert read(text, None, 9) == Ran(12, ("test_bad", "test_slow[asked to end]", "not over in 9 s"))
    second = read("FAILED tests/a.py::test_bad - x\n1 failed, 1 passed in 1s\n", 1, 9)
    assert both(first, second) == Ran(13, ("test_bad",), ("test_slow[asked to end]",))
    assert read("3 passed in 1s", 0, 9) == Ran(3, ())
    assert read("", 139, 9).failed == ("pytest ended with 139",)


def test_the_table_says_why_an_environment_was_not_run() -> None:
    first, second = ENVIRONMENTS[:2]
    part = {"passed": 3, "failed": ["test_bad"], "again": ["test_slow"]}
    text = page(
        {
            first.name: {"reason": "no Python here"},
            second.name: {
                "date": "2026-01-02",
                next(iter(TESTS)): part,
                "commits": {"jobs": "1234567+", next(iter(TESTS)): "89abcde"},
            },
            labs.name("4.2.7"): {
                "date": "2026-01-03",
                "panel": {"passed": 4, "failed": [], "again": []},
                "Submit, jobs": {"passed": 5, "failed": ["test_worse"], "again": []},
                "commits": {"panel": "89abcde"},
            },
        }
    )
    assert "| 2026-01-02 | 89abcde, 1234567+ |" in text
    assert "not run: no Python here" in text
    assert "| 3, **1 failed** |" in text
    assert "2026-01-02" in text
    assert "| 4.2.7 | – | 4 | – | 5, **1 failed** | 2026-01-03 | 89abcde |" in text
    assert "- JupyterLab 4.2.7, Submit, jobs: `test_worse`" in text
    assert "| 4.4.10 | – | – | – | – | not run | – |" in text
    tables = text.split("\n## ")
    assert len(tables) == 3
    assert all("Numbers are tests that passed" in table for table in tables)
    assert "`test_bad`" in text
    assert "`test_slow`" in text


def test_the_lowest_versions_are_those_of_pyproject() -> None:
    assert floors(["a>=1.8.8; python_version < '3.12'", "b_c>=7.1,<8"]) == [
        "a==1.8.8; python_version < '3.12'",
        "b_c==7.1",
    ]
    with pytest.raises(ValueError, match="none has no lowest version"):
        floors(["none"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (pin,) = (p for p in floors(project["dependencies"]) if p.startswith("torch=="))
    (row,) = (environment for environment in ENVIRONMENTS if environment.lowest)
    assert row.torch.startswith(pin.removeprefix("torch=="))


def test_a_row_tells_the_commit_of_the_tree_that_was_run(tmp_path: Path) -> None:
    assert tree.commit(tmp_path) == "–"

    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    for name in ("code.py", *tree.WRITTEN):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    head = git("rev-parse", "--short=7", "HEAD").strip()
    for name in tree.WRITTEN:
        (tmp_path / name).write_text("what the run has found\n")
    assert tree.commit(tmp_path) == head
    (tmp_path / "new.py").write_text("")
    assert tree.commit(tmp_path) == f"{head}+"
    (tmp_path / "new.py").unlink()
    (tmp_path / "code.py").write_text("2\n")
    assert tree.commit(tmp_path) == f"{head}+"
