"""What an agent does for ranks of another framework: variables, ports, and MindSpore's scheduler."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.machine import gpus
from dtrain_lab.node.sources.frameworks import Adapter
from dtrain_lab.placement.frameworks import tensorflow
from dtrain_lab.wire.jobs.framework import FrameworkPlan

PORT = "20000"


def adapter(plan: FrameworkPlan, size: int, *, port: str = PORT) -> Adapter:
    """The adapter of an agent with all of a job's ranks."""
    told = {
        environment_variables.FRAMEWORK: msgspec.json.encode(plan).decode(),
        environment_variables.NODES: "127.0.0.1",
        "MASTER_PORT": port,
    }
    return Adapter(0, size, told)


def test_ranks_that_share_a_gpu_take_memory_as_they_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    crowded = adapter(tensorflow.plan(None, 2), 2)
    first, second = (crowded.variables(rank, {gpus.VISIBLE: "3"}) for rank in (0, 1))
    assert first[gpus.VISIBLE] == second[gpus.VISIBLE] == "3"
    assert first[tensorflow.GROWTH] == second[tensorflow.GROWTH] == "true"
    told = crowded.variables(0, {gpus.VISIBLE: "3", tensorflow.GROWTH: "false"})
    assert told[tensorflow.GROWTH] == "false", "the profile wins"
    roomy = crowded.variables(1, {gpus.VISIBLE: "3,4"})
    assert roomy[gpus.VISIBLE] == "4"
    assert tensorflow.GROWTH not in roomy


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which another process listens."""
    with socket.socket() as listening:
        listening.bind(("", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_a_taken_port_of_a_rank_is_named_before_the_ranks_start(taken: int) -> None:
    workers = adapter(tensorflow.plan(None, 4), 4, port=str(taken - 2))
    wanted = f"port {taken}, where rank 2 would listen, is taken by another process"
    assert workers.cannot_listen([2]) == wanted
    assert workers.cannot_listen([]) is None, "ports of other nodes are looked at there"
    with_evaluator = adapter(tensorflow.plan("parameter_server", 4, evaluates=True), 4, port=str(taken - 3))
    assert with_evaluator.cannot_listen([3]) is None, "an evaluator is in no cluster"
    assert adapter(FrameworkPlan("mindspore"), 4, port=str(taken - 2)).cannot_listen([2]) is None
    assert Adapter(0, 4, {}).cannot_listen([0, 1, 2, 3]) is None, "torch finds its ranks in another way"


@pytest.mark.asyncio
async def test_a_scheduler_that_fails_is_told_with_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await adapter(tensorflow.plan(None, 2), 2).scheduler_failed(tmp_path) is None, "it has none"
    (tmp_path / "mindspore.py").write_text("raise OSError('address in use')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ours = adapter(FrameworkPlan("mindspore"), 2)
    await ours.start_scheduler(tmp_path)
    wanted = "lost MindSpore's scheduler, which ended with code 1: OSError: address in use"
    assert await ours.scheduler_failed(tmp_path) == wanted


@pytest.mark.asyncio
async def test_a_scheduler_whose_workers_have_left_has_not_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "mindspore"
    package.mkdir()
    (package / "__init__.py").write_text("def set_context(**_): pass")
    (package / "communication.py").write_text("def init(): print('all have left')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ours = adapter(FrameworkPlan("mindspore"), 2)
    await ours.start_scheduler(tmp_path)
    assert await ours.scheduler_failed(tmp_path) is None
    assert "all have left" in (tmp_path / job_files.SCHEDULER_LOG).read_text()
