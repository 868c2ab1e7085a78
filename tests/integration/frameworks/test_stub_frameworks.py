"""What agents do around ranks of another framework, tried with packages that only pretend to be one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import dtrain_lab as dt
from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.placement.frameworks import tensorflow
from tests.books import write

pytestmark = pytest.mark.processes
STAYS = "import time\nprint('begins', rank)\nif rank: time.sleep(600)"
SERVERS = "if False:\n    import tensorflow as tf\n    tf.distribute.ParameterServerStrategy()"


@pytest.fixture(autouse=True)
def no_job_left(packages: Path) -> Iterator[None]:
    yield
    for job in dt.jobs():
        if not job.ended:
            job.cancel()
            job.wait(60)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the checks look for packages; ranks don't get its path."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


def test_ranks_that_serve_end_with_their_chief_and_have_not_failed(packages: Path, tmp_path: Path) -> None:
    (packages / "tensorflow.py").touch()
    book = write(tmp_path / "servers.ipynb", [STAYS, SERVERS])
    job = dt.submit(book, framework="tensorflow", ranks_per_node=3)
    assert job.wait(90) == "succeeded", job.logs()
    assert job.info()["error"] is None


def test_a_job_whose_scheduler_fails_ends_with_its_last_line(packages: Path, tmp_path: Path) -> None:
    """Its ranks would wait for it for ten minutes."""
    (packages / "mindspore.py").touch()
    book = write(
        tmp_path / "waits.ipynb", ["import time\ntime.sleep(600)", "if False:\n    import mindspore"]
    )
    job = dt.submit(book, framework="mindspore", ranks_per_node=2)
    assert job.wait(90) == "failed", job.logs()
    error = job.info()["error"]
    wanted = "scheduler, which ended with code 1: ModuleNotFoundError: No module named 'mindspore'"
    assert error["rank"] == 0
    assert error["message"].endswith(wanted), error


def test_an_agent_whose_port_is_taken_starts_no_rank_and_names_it(tmp_path: Path) -> None:
    """As on hosts, where the script tries no ports."""
    plan = msgspec.json.encode(tensorflow.plan(None, 2)).decode()
    with socket.socket() as listening:
        listening.bind(("", 0))
        listening.listen()
        port = listening.getsockname()[1]
        told = {
            environment_variables.FRAMEWORK: plan,
            environment_variables.NODES: "127.0.0.1",
            "MASTER_PORT": str(port),
            environment_variables.SIZE: "2",
        }
        agent = [sys.executable, "-P", "-m", "dtrain_lab.node", "ranks", str(tmp_path), "0", "2"]
        done = subprocess.run(agent, env={**os.environ, **told}, timeout=60, check=False)
    assert done.returncode == 1
    error = json.loads((tmp_path / job_files.error(0)).read_text())
    wanted = f"could not start: port {port}, where rank 0 would listen, is taken by another process"
    assert error["message"] == wanted
