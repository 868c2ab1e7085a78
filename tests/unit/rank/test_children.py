"""Processes that a rank starts: by fork, whatever Python's default is, unless the user says otherwise."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dtrain_lab.rank import import_hooks

CODE = """
import multiprocessing
from multiprocessing import context
# as Python 3.14 begins
context._default_context._default_context = multiprocessing.get_context("forkserver")
from dtrain_lab.rank import child_processes
child_processes.fork_by_default()
print(multiprocessing.get_start_method())
"""
CHOSEN = """
import multiprocessing
from dtrain_lab.rank import child_processes
child_processes.fork_by_default()
multiprocessing.set_start_method("spawn")  # not refused as set already
child_processes.fork_by_default()
print(multiprocessing.get_start_method())
"""


def said(code: str) -> list[str]:
    run = [sys.executable, "-c", code]
    return subprocess.run(run, capture_output=True, text=True, check=True, timeout=60).stdout.split("\n")


def test_fork_is_the_default_and_the_user_may_choose() -> None:
    assert said(CODE) == ["fork", ""]
    assert said(CHOSEN) == ["spawn", ""]


def test_an_import_does_not_fail_for_what_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "renamed_parts.py").write_text("x = 1")
    monkeypatch.syspath_prepend(tmp_path)

    def lacks(module: ModuleType) -> None:
        module.PartialState  # noqa: B018 # of a version that has another name for it

    import_hooks.after_import("renamed_parts", lacks)
    assert importlib.import_module("renamed_parts").x == 1


POOL = """
import multiprocessing, sys, threading, time
from dtrain_lab.rank import child_processes
child_processes.with_code()
lock = threading.Lock()  # as a global that can't be pickled, or is large

class Item:
    def __init__(self, value):
        self.value = value

    def read(self):
        return lock.locked(), self.value

def read(item):
    with lock:
        return item.read()

def late(value):
    return value + 1

if sys.argv[1] == "fork":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(read, [Item(1), Item(2)]))
        def late(value):
            return value + 2
        def later(value):
            return value + 3
        print(pool.map(later, [1]))  # not there when the workers were forked
else:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(late, [1]))
        with multiprocessing.get_context("fork").Pool(1) as forked:
            print(forked.map(late, [1]))
"""


@pytest.mark.parametrize(
    ("method", "wanted"),
    [("fork", ["[(True, 1), (True, 2)]", "[4]", ""]), ("spawn", ["[2]", "[2]", ""])],
)
def test_functions_of_cells_go_to_forked_workers_by_name(method: str, wanted: list[str]) -> None:
    run = [sys.executable, "-c", POOL, method]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60)
    assert done.stdout.split("\n") == wanted, done.stderr
