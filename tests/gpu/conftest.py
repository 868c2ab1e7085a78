"""Real GPUs: these tests run where there is one (`make gpu`), and are skipped, loudly, elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dtrain_lab as dt
from dtrain_lab.machine import gpus
from dtrain_lab.services import paths
from tests.gpu import same_gpu

COUNT = len(gpus.usable())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    why = pytest.mark.skip(reason="NO GPU: nothing of CUDA and NCCL did run; see docs/gpu.md")
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.gpu)
            item.add_marker(pytest.mark.timeout(150))
            if not COUNT:
                item.add_marker(why)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dt.Cluster]:
    """Two ranks with NCCL: on two GPUs, or on one that both take for their own."""
    with pytest.MonkeyPatch.context() as patch:
        if COUNT > 1:
            started = dt.start(ranks=2)
        else:
            folder = tmp_path_factory.mktemp("same")
            same_gpu.write(folder, paths.profiles())
            patch.delitem(sys.modules, "pynvml")
            patch.syspath_prepend(str(folder))
            patch.setenv("PYTHONPATH", str(folder))
            started = dt.start("pair", ranks=2)
        with started as cluster:
            cluster.run("import torch\ndevice = torch.device('cuda', torch.cuda.current_device())")
            yield cluster


@pytest.fixture(scope="module")
def crowd() -> Iterator[dt.Cluster]:
    """One rank more than there are GPUs: they share, over gloo."""
    with dt.start(ranks=COUNT + 1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def alone() -> Iterator[dt.Cluster]:
    """One rank with a GPU."""
    with dt.start(ranks=1) as cluster:
        yield cluster
