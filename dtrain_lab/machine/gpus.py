"""GPUs of this machine, and who computes on them: by NVML, without torch or CUDA.

A count through either would spoil a process for forking. A GPU is called by its index on the machine, as
`nvidia-smi` and CUDA_VISIBLE_DEVICES have it; one that has none (a MIG slice) by its UUID.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dtrain_lab.core.plan import named_gpus

VISIBLE = "CUDA_VISIBLE_DEVICES"


def usable(variables: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """GPUs that a process of these variables may use, in CUDA's order."""
    visible = variables.get(VISIBLE)
    with _driver() as nvml:
        if visible is None:
            return tuple(map(str, range(nvml.nvmlDeviceGetCount()))) if nvml else ()
        return tuple(_index(nvml, name) for name in named_gpus(visible))


def processes() -> dict[str, list[tuple[int, int]]]:
    """GPU → processes that compute on it: pid, and bytes it uses there. Empty without a driver."""
    found: dict[str, list[tuple[int, int]]] = {}
    with _driver() as nvml:
        if nvml is None:
            return {}
        try:
            for device in range(nvml.nvmlDeviceGetCount()):
                running = nvml.nvmlDeviceGetComputeRunningProcesses(nvml.nvmlDeviceGetHandleByIndex(device))
                if running:
                    found[str(device)] = [(p.pid, int(p.usedGpuMemory or 0)) for p in running]
        except nvml.NVMLError:  # a driver without the call
            return {}
    return found


def only(names: Sequence[str]) -> dict[str, str]:
    """Variables by which a process sees only these GPUs."""
    # CUDA's own order is by speed; whoever said what is visible knows which one he meant
    order = {} if VISIBLE in os.environ else {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return {VISIBLE: ",".join(names), **order}


def handle(nvml: Any, name: str) -> Any:
    """NVML's handle of a GPU.

    Raises:
        pynvml.NVMLError: there is none.
    """
    if name.isdecimal():
        return nvml.nvmlDeviceGetHandleByIndex(int(name))
    return nvml.nvmlDeviceGetHandleByUUID(name)


def open_driver() -> Any:
    """NVML, begun; None without a driver."""
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
    """A GPU by its index, where it has one."""
    if nvml is None or name.isdecimal() or name.startswith("MIG"):
        return name
    try:
        return str(nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByUUID(name)))
    except nvml.NVMLError:  # a short form of its UUID, or a GPU that is gone
        return name
