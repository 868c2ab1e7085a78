"""What ranks use of their node: CPU, memory, GPU."""

from __future__ import annotations

from typing import Any

import psutil
from msgspec import Struct

from dtrain_lab.machine import gpus

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

    def __init__(self, count: int) -> None:
        self._processes: dict[int, psutil.Process] = {}
        self._nvml = gpus.open_driver() if count else None

    def use(self, pid: int, gpu: str | None) -> Use:
        """What a rank uses.

        Args:
            pid: of its process.
            gpu: its GPU, as `machine.gpus` calls it; None for a CPU rank.
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
        if gpu is None or self._nvml is None:
            return Use(stopped, cpu, memory)
        return self._with_gpu(Use(stopped, cpu, memory), pid, gpu)

    def _with_gpu(self, use: Use, pid: int, gpu: str) -> Use:
        nvml = self._nvml
        assert nvml is not None
        try:
            handle = gpus.handle(nvml, gpu)
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
