"""Utilization of a whole node, by any process: CPU, network, run queue, thermal throttling."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil

from dtrain_lab.wire.node_use import HostUse

THROTTLE_EVERY_S = 5.0
NETWORK = Path("/sys/class/net")
INFINIBAND = Path("/sys/class/infiniband")
PROCESSORS = Path("/sys/devices/system/cpu")
LANES = 4
"""InfiniBand counters count words of four bytes."""
HEAT = "heat"
LOAD = Path("/proc/loadavg")
SMOOTH_S = 5.0
"""Seconds over which the number of runnable threads is averaged, because single readings fluctuate."""


class Host:
    """Samples this node.

    Args:
        traffic: Bytes sent and received since boot.
        throttles: Number of thermal throttle events of its CPUs since boot; None if it is unknown.
        runnable: Number of runnable threads at this moment, the caller's own included; None if it is not
            known.
    """

    def __init__(
        self,
        traffic: Callable[[], tuple[int, int]] | None = None,
        throttles: Callable[[], int | None] | None = None,
        runnable: Callable[[], int | None] | None = None,
    ) -> None:
        self._traffic = traffic or network_bytes
        self._throttles = throttles or throttle_count
        self._count_runnable = runnable or runnable_threads
        self._runnable: float | None = None
        self._cores = psutil.cpu_count() or 1
        self._before = time.monotonic(), self._traffic()
        self._heat = self._throttles()
        self._hot = False
        self._looked = time.monotonic()
        psutil.cpu_percent(None)

    def use(self) -> HostUse:
        """Utilization since the last call."""
        now, traffic = time.monotonic(), self._traffic()
        since, (sent, received) = self._before
        self._before = now, traffic
        seconds = max(1e-3, now - since)
        self._feel(now)
        self._count(seconds)
        return HostUse(
            cores=self._cores,
            cpu_utilization=psutil.cpu_percent(None) / 100,
            # counters of a removed interface are missing from the sum
            sent_bytes_per_s=max(0, traffic[0] - sent) / seconds,
            received_bytes_per_s=max(0, traffic[1] - received) / seconds,
            throttled=HEAT if self._hot else "",
            runnable=self._runnable,
        )

    def _count(self, seconds: float) -> None:
        count = self._count_runnable()
        if count is None:
            return
        others = max(0, count - 1)  # the reading thread counts itself
        before = others if self._runnable is None else self._runnable
        self._runnable = before + (others - before) * min(1.0, seconds / SMOOTH_S)

    def _feel(self, now: float) -> None:
        if now - self._looked < THROTTLE_EVERY_S:
            return
        self._looked = now
        heat = self._throttles()
        self._hot = heat is not None and self._heat is not None and heat > self._heat
        self._heat = heat


def network_bytes() -> tuple[int, int]:
    """Bytes that this node sent and received: network cards and InfiniBand, without loopback.

    Bridges and containers' veth ends carry the same bytes again, so they count only where there is no card,
    as inside a container.
    """
    counters = psutil.net_io_counters(pernic=True)
    outside = {name: c for name, c in counters.items() if name != "lo"}
    cards = {name: c for name, c in outside.items() if (NETWORK / name / "device").exists()}
    chosen = (cards or outside).values()
    sent = sum(c.bytes_sent for c in chosen)
    received = sum(c.bytes_recv for c in chosen)
    for port in INFINIBAND.glob("*/ports/*/counters"):
        sent += LANES * _number(port / "port_xmit_data")
        received += LANES * _number(port / "port_rcv_data")
    return sent, received


def runnable_threads() -> int | None:
    """Number of runnable threads of this machine; None if the kernel does not report it."""
    try:
        return int(LOAD.read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return None


def throttle_count() -> int | None:
    """Number of thermal throttle events of this node's CPUs; None if the kernel does not report it."""
    counts = list(PROCESSORS.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"))
    return sum(map(_number, counts)) if counts else None


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # a port that is down has no counters
        return 0
