"""What an agent does for ranks of another framework: variables, ports, and MindSpore's scheduler."""

from __future__ import annotations

import msgspec
import pytest

from dtrain_lab.jobs import files as job_files
from dtrain_lab.machine import gpus
from dtrain_lab.node.sources.frameworks import Adapter
from dtrain_lab.placement.frameworks import tensorflow
from dtrain_lab.wire.framework import FrameworkPlan

PORT = "20000"


def adapter(plan: FrameworkPlan, size: int, *, port: str = PORT) -> Adapter:
    """The adapter of an agent with all of a job's ranks."""
    told = {
        job_files.FRAMEWORK_VARIABLE: msgspec.json.encode(plan).decode(),
        job_files.NODES_VARIABLE: "127.0.0.1",
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
