"""What ranks use of their node: CPU, memory, GPU."""

from __future__ import annotations

import os
from typing import Any

import psutil
from msgspec import Struct

THROTTLED = ((0x20 | 0x40, "heat"), (0x80, "power supply"), (0x8, "hardware"))
"""Bits of NVML's reasons: heat by software and hardware, power brake, any other of the hardware."""


class Use(Struct, frozen=True):
    """What one rank uses. `cpu` in cores (1.0 is one core), bytes, shares 0 to 1."""

    stopped: bool = False
    """By a signal."""
    cpu: float | None = None
    memory_bytes: int | None = None
    device_memory_bytes: int | None = None
    device_memory_total_bytes: int | None = None
    device_utilization: float | None = None
    throttled: str = ""
    """Why its GPU is slowed down; empty where it is not."""


class Devices:
    """Samples the processes of ranks and the GPUs under them. Never raises for a process that is gone."""

    def __init__(self, gpus: int) -> None:
        self._gpus = gpus
        self._processes: dict[int, psutil.Process] = {}
        self._nvml = _open_nvml() if gpus else None

    def use(self, pid: int, device: int | None) -> Use:
        """What a rank uses.

        Args:
            pid: of its process.
            device: index of its GPU; None for a CPU rank.
        """
        try:
            process = self._processes.get(pid)
            if process is None:
                process = self._processes[pid] = psutil.Process(pid)
                process.cpu_percent(None)
            with process.oneshot():
                cpu = process.cpu_percent(None) / 100
                memory = process.memory_info().rss
                stopped = process.status() == psutil.STATUS_STOPPED
        except psutil.NoSuchProcess:
            self._processes.pop(pid, None)
            return Use()
        if device is None or self._nvml is None:
            return Use(stopped, cpu, memory)
        return self._with_gpu(Use(stopped, cpu, memory), pid, device)

    def _with_gpu(self, use: Use, pid: int, device: int) -> Use:
        nvml = self._nvml
        assert nvml is not None
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(_physical(device))
            total = nvml.nvmlDeviceGetMemoryInfo(handle)
            rates = nvml.nvmlDeviceGetUtilizationRates(handle)
            mine = [p for p in nvml.nvmlDeviceGetComputeRunningProcesses(handle) if p.pid == pid]
        except nvml.NVMLError:  # a driver without the call, or a GPU that fell off the bus: not known
            return use
        used = mine[0].usedGpuMemory if mine else None
        return Use(
            use.stopped,
            use.cpu,
            use.memory_bytes,
            # inside a container NVML gives other pids: then the whole device's use is what there is
            int(used if used is not None else total.used),
            int(total.total),
            rates.gpu / 100,
            _slowed(nvml, handle),
        )


def _slowed(nvml: Any, handle: Any) -> str:
    """Why a GPU runs below its clock. A power cap is none: busy GPUs run at theirs all day."""
    try:
        reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    except nvml.NVMLError:  # older drivers and some vGPUs do not tell
        return ""
    for bit, why in THROTTLED:
        if reasons & bit:
            return why
    return ""


def _physical(device: int) -> int:
    """Index for NVML, which counts all GPUs, of a GPU as CUDA_VISIBLE_DEVICES shows it."""
    visible = [v.strip() for v in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if v.strip()]
    if device < len(visible) and visible[device].isdecimal():
        return int(visible[device])
    return device


def _open_nvml() -> Any:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml
