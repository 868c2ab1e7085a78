"""A stand-in for the driver's library on machines without a GPU: what NVML says is read from a file.

What surrounds GPUs can be run with it: who gets which, who holds them, who may end what. Nothing computes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

LIBRARY = """
import json
from collections import namedtuple
from pathlib import Path

Process = namedtuple("Process", "pid usedGpuMemory")
Memory = namedtuple("Memory", "total used free")
Rates = namedtuple("Rates", "gpu memory")


class NVMLError(Exception):
    pass


def _gpus():
    return json.loads(Path(__file__).with_name("gpus.json").read_text())


def nvmlInit():
    pass


nvmlShutdown = nvmlInit


def nvmlSystemGetDriverVersion():
    return "stand-in"


def nvmlDeviceGetCount():
    return len(_gpus())


def nvmlDeviceGetHandleByIndex(index):
    if index >= len(_gpus()):
        raise NVMLError("Invalid Argument")
    return index


def nvmlDeviceGetHandleByUUID(name):
    try:
        return int(name.removeprefix("GPU-stand-in-"))
    except ValueError:
        raise NVMLError("Not Found") from None


def nvmlDeviceGetIndex(handle):
    return handle


def nvmlDeviceGetComputeRunningProcesses(handle):
    return [Process(*found) for found in _gpus()[handle]]


def nvmlDeviceGetMemoryInfo(handle):
    return Memory(80 << 30, sum(size for _, size in _gpus()[handle]), 0)


def nvmlDeviceGetUtilizationRates(handle):
    return Rates(10 * (handle + 1), 0)


def nvmlDeviceGetCurrentClocksThrottleReasons(handle):
    return 0
"""
NO_CUDA = '''
import importlib.abc
import sys


class Finder(importlib.abc.MetaPathFinder):
    """torch has no CUDA here: a rank's choice of its GPU is noted instead."""

    def find_spec(self, name, path=None, target=None):
        if name != "dtrain_lab.rank.main":
            return None
        import torch

        torch.version.cuda = "stand-in"
        torch.cuda.set_device = lambda device: setattr(torch.cuda, "chosen", device)
        return None


sys.meta_path.insert(0, Finder())
'''


class Gpus:
    """GPUs of a driver that is none; put `folder` on PYTHONPATH.

    Args:
        folder: where the library is written.
        count: GPUs there are.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self._count = count
        (folder / "pynvml.py").write_text(LIBRARY)
        (folder / "sitecustomize.py").write_text(NO_CUDA)
        self.computes({})

    def computes(self, processes: dict[int, list[tuple[int, int]]]) -> None:
        """Say who computes where: GPU → pid and bytes, each."""
        found = [processes.get(device, []) for device in range(self._count)]
        part = self.folder / "gpus.part"
        part.write_text(json.dumps(found))
        part.rename(self.folder / "gpus.json")


@contextmanager
def computing(
    gpus: Gpus, device: int, *, user: str | None = None, **variables: str
) -> Iterator[psutil.Process]:
    """A process of somebody's that the driver says is on a GPU."""
    code = "import time; print('runs', flush=True); time.sleep(600)"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables
    with subprocess.Popen(
        [sys.executable if user is None else "/usr/bin/python3", "-c", code],
        env=environment, user=user, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"runs\n"
            gpus.computes({device: [(process.pid, 5 << 30)]})
            yield psutil.Process(process.pid)
        finally:
            gpus.computes({})
            process.kill()
