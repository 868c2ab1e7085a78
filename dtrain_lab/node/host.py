"""What a node does as a whole, whoever makes it: its processors, its network, whether it is slowed down."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil

from dtrain_lab.core.cluster import HostUse

THROTTLE_EVERY_S = 5.0
NETWORK = Path("/sys/class/net")
INFINIBAND = Path("/sys/class/infiniband")
PROCESSORS = Path("/sys/devices/system/cpu")
LANES = 4
"""InfiniBand counts words of four bytes."""
HEAT = "heat"


class Host:
    """Samples this node.

    Args:
        traffic: bytes sent and received since it booted.
        throttles: how often its processors were slowed down by heat since then; None where nobody says.
    """

    def __init__(
        self,
        traffic: Callable[[], tuple[int, int]] | None = None,
        throttles: Callable[[], int | None] | None = None,
    ) -> None:
        self._traffic = traffic or network_bytes
        self._throttles = throttles or throttle_count
        self._cores = psutil.cpu_count() or 1
        self._before = time.monotonic(), self._traffic()
        self._heat = self._throttles()
        self._hot = False
        self._looked = time.monotonic()
        psutil.cpu_percent(None)

    def use(self) -> HostUse:
        """Since the last call."""
        now, traffic = time.monotonic(), self._traffic()
        since, (sent, received) = self._before
        self._before = now, traffic
        seconds = max(1e-3, now - since)
        self._feel(now)
        return HostUse(
            cores=self._cores,
            cpu_utilization=psutil.cpu_percent(None) / 100,
            # counters of an interface that was taken away are gone from the sum
            sent_bytes_per_s=max(0, traffic[0] - sent) / seconds,
            received_bytes_per_s=max(0, traffic[1] - received) / seconds,
            throttled=HEAT if self._hot else "",
        )

    def _feel(self, now: float) -> None:
        if now - self._looked < THROTTLE_EVERY_S:
            return
        self._looked = now
        heat = self._throttles()
        self._hot = heat is not None and self._heat is not None and heat > self._heat
        self._heat = heat


def network_bytes() -> tuple[int, int]:
    """Bytes that this node sent and received: network cards and InfiniBand, without loopback.

    Bridges and containers' ends of a cable carry the same bytes once more: they count only where there is no
    card, as inside a container.
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


def throttle_count() -> int | None:
    """How often this node's processors were slowed down by heat; None where the kernel does not say."""
    counts = list(PROCESSORS.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"))
    return sum(map(_number, counts)) if counts else None


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # a port that is down has no counters
        return 0
