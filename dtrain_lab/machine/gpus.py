"""GPUs of this machine and the processes on them, through NVML, without torch or CUDA.

Counting GPUs with torch or CUDA would make a process unsafe to fork. A GPU is named by its index on the
machine, as in `nvidia-smi` and CUDA_VISIBLE_DEVICES; one without an index (a MIG slice) by its UUID.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dtrain_lab.placement.local_plan import named_gpus

VISIBLE = "CUDA_VISIBLE_DEVICES"


def usable(variables: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """GPUs that a process with this environment may use, in CUDA's order."""
    visible = variables.get(VISIBLE)
    with _driver() as nvml:
        if visible is None:
            return tuple(map(str, range(nvml.nvmlDeviceGetCount()))) if nvml else ()
        return tuple(_index(nvml, name) for name in named_gpus(visible))


def processes() -> dict[str, list[tuple[int, int]]]:
    """GPU → processes that compute on it: pid, and bytes of GPU memory. Empty without a driver."""
    by_device: dict[str, list[tuple[int, int]]] = {}
    with _driver() as nvml:
        if nvml is None:
            return {}
        try:
            for device in range(nvml.nvmlDeviceGetCount()):
                running = nvml.nvmlDeviceGetComputeRunningProcesses(nvml.nvmlDeviceGetHandleByIndex(device))
                if running:
                    by_device[str(device)] = [(p.pid, int(p.usedGpuMemory or 0)) for p in running]
        except nvml.NVMLError:  # the driver lacks the call
            return {}
    return by_device


def only(names: Sequence[str]) -> dict[str, str]:
    """Environment variables that show a process only these GPUs."""
    # CUDA orders by speed by default; a user who set CUDA_VISIBLE_DEVICES has chosen the order
    order = {} if VISIBLE in os.environ else {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return {VISIBLE: ",".join(names), **order}


def handle(nvml: Any, name: str) -> Any:
    """NVML's handle of a GPU.

    Args:
        nvml: The module `pynvml`, initialized.
        name: Index of the GPU, or its UUID, as in CUDA_VISIBLE_DEVICES.

    Raises:
        pynvml.NVMLError: There is no such GPU.
    """
    if name.isdecimal():
        return nvml.nvmlDeviceGetHandleByIndex(int(name))
    return nvml.nvmlDeviceGetHandleByUUID(name)


def open_driver() -> Any:
    """The initialized NVML module; None without a driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


@contextmanager
def _driver() -> Iterator[Any]:
    nvml = open_driver()
    try:
        yield nvml
    finally:
        if nvml is not None:
            nvml.nvmlShutdown()


def _index(nvml: Any, name: str) -> str:
    """Index of a GPU, if it has one; else the name unchanged."""
    if nvml is None or name.isdecimal() or name.startswith("MIG"):
        return name
    try:
        return str(nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByUUID(name)))
    except nvml.NVMLError:  # a shortened UUID, or a GPU that is gone
        return name
