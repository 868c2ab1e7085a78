"""Processes that a rank starts: by fork, whatever Python's default is, unless the user says otherwise."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dtrain_lab.rank import imports

CODE = """
import multiprocessing
from multiprocessing import context
# as Python 3.14 begins
context._default_context._default_context = multiprocessing.get_context("forkserver")
from dtrain_lab.rank import children
children.fork_by_default()
print(multiprocessing.get_start_method())
"""
CHOSEN = """
import multiprocessing
from dtrain_lab.rank import children
children.fork_by_default()
multiprocessing.set_start_method("spawn")  # not refused as set already
children.fork_by_default()
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

    imports.after_import("renamed_parts", lacks)
    assert importlib.import_module("renamed_parts").x == 1
