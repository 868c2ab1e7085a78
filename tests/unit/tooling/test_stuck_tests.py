"""A test that no signal ends is broken off, and says where it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DEADLOCK = """
import ctypes
def wait_forever():
    mutex = ctypes.create_string_buffer(64)
    ctypes.PyDLL(None).pthread_mutex_lock(mutex)
    ctypes.PyDLL(None).pthread_mutex_lock(mutex)  # with the GIL held
"""
IN_A_TEST = "def test_it(): wait_forever()"
BEHIND_A_FAILURE = """
import pytest
@pytest.fixture
def thing():
    yield
    wait_forever()
def test_it(thing): assert 0
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("test", [IN_A_TEST, BEHIND_A_FAILURE])
def test_a_deadlock_in_c_ends_with_the_stacks(tmp_path: Path, test: str) -> None:
    (tmp_path / "conftest.py").write_text("from tests import stuck\nstuck.GRACE_S = 0.5\n")
    (tmp_path / "test_it.py").write_text(DEADLOCK + test)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 0.5\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "pytest_timeout",
        "-p",
        "tests.stuck",
        str(tmp_path),
    ]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, timeout=50)
    assert done.returncode == 1
    assert "wait_forever" in done.stderr, done.stdout
    assert "test_it.py" in done.stderr
