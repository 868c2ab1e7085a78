"""CPU, memory and GPU use of ranks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import psutil
from msgspec import Struct

from dtrain_lab.machine import gpus

THROTTLED = ((0x20 | 0x40, "heat"), (0x80, "power supply"), (0x8, "hardware"))
"""Bits of NVML's throttle reasons: thermal in software and hardware, power brake, other hardware slowdown."""


class Use(Struct, frozen=True):
    """Resource use of one rank. `cpu` in cores (1.0 is one core), sizes in bytes, shares from 0 to 1."""

    stopped: bool = False
    """Stopped by a signal."""
    cpu: float | None = None
    memory_bytes: int | None = None
    device_memory_bytes: int | None = None
    device_memory_total_bytes: int | None = None
    device_utilization: float | None = None
    throttled: str = ""
    """Why the GPU is throttled; empty if it is not."""
    starved: float | None = None
    """Share of the time in which its main thread was ready to run and had no core; None if unknown."""


class Devices:
    """Samples the ranks' processes and GPUs. Never raises for a process that has ended."""

    def __init__(self, count: int) -> None:
        self._processes: dict[int, psutil.Process] = {}
        self._waited: dict[int, tuple[float, float]] = {}
        """Time of the last call, and the seconds that the process's main thread had waited for a core."""
        self._nvml = gpus.open_driver() if count else None

    def use(self, pid: int, gpu: str | None) -> Use:
        """Resource use of a rank since the last call.

        Args:
            pid: Process id of the rank.
            gpu: The rank's GPU, as `machine.gpus` names it; None for a CPU rank.
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
            self._waited.pop(pid, None)
            return Use()
        use = Use(stopped, cpu, memory, starved=self._starved(pid))
        return use if gpu is None or self._nvml is None else self._with_gpu(use, pid, gpu)

    def _starved(self, pid: int) -> float | None:
        waited, now = waited_for_core_s(pid), time.monotonic()
        before = self._waited.pop(pid, None)
        if waited is None:
            return None
        self._waited[pid] = now, waited
        if before is None or now <= before[0]:
            return None
        return min(1.0, max(0.0, (waited - before[1]) / (now - before[0])))

    def _with_gpu(self, use: Use, pid: int, gpu: str) -> Use:
        nvml = self._nvml
        assert nvml is not None
        try:
            handle = gpus.handle(nvml, gpu)
            total = nvml.nvmlDeviceGetMemoryInfo(handle)
            rates = nvml.nvmlDeviceGetUtilizationRates(handle)
            mine = [p for p in nvml.nvmlDeviceGetComputeRunningProcesses(handle) if p.pid == pid]
        except nvml.NVMLError:  # the driver lacks the call, or the GPU fell off the bus
            return use
        used = mine[0].usedGpuMemory if mine else None
        return Use(
            use.stopped,
            use.cpu,
            use.memory_bytes,
            # inside a container NVML reports other pids: fall back to the memory use of the whole device
            int(used if used is not None else total.used),
            int(total.total),
            rates.gpu / 100,
            _slowed(nvml, handle),
            use.starved,
        )


def waited_for_core_s(pid: int) -> float | None:
    """Seconds in which a process's main thread was ready to run and had no core; None if unknown."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return None


def _slowed(nvml: Any, handle: Any) -> str:
    """Why a GPU runs below its clock. The power cap does not count: busy GPUs run at theirs all day."""
    try:
        reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    except nvml.NVMLError:  # older drivers and some vGPUs do not report it
        return ""
    for bit, why in THROTTLED:
        if reasons & bit:
            return why
    return ""
