"""A forecast against the truth: two ranks on one node, predicted and then measured on two nodes.

Nodes are network namespaces with a wire between them, whose speed is measured as `profile check` does. Layers
take a known time without the processor, so only communication changes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import msgspec

from benchmarks.measure import Row, emit
from benchmarks.slow_network import FIRST, SECOND, make_network, remove_network
from benchmarks.training.advice import MODELS, NETWORKS, run
from dtrain_lab.metrics.advice.forecast import forecast
from dtrain_lab.metrics.advice.measured import Measured
from dtrain_lab.wire.node_check import MeasuredSpeed

WITHIN = 1.0
"""A forecast holds where the truth is off by no more than the error that it states."""


def figures(case: str, network: str | None) -> Measured:
    """Figures of the loop."""
    line = next(x for x in run(case, network, "figures") if x.startswith("MEASURED "))
    return msgspec.json.decode(line.removeprefix("MEASURED "), type=Measured)


def wire_speed() -> MeasuredSpeed:
    """What `profile check` would measure between the two hosts."""
    words = [sys.executable, "-m", "dtrain_lab.node", "speed", "10.77.0.1", "29411", "secret"]
    there = subprocess.Popen(["ip", "netns", "exec", FIRST, *words, "listen"])
    try:
        done = subprocess.run(
            ["ip", "netns", "exec", SECOND, *words, "connect"], capture_output=True, text=True, check=True
        )
    finally:
        there.wait(30)
    found = msgspec.json.decode(done.stdout.splitlines()[-1])
    return MeasuredSpeed(found["round_trip_s"], found["bytes_per_s"], time.time())


def main() -> None:
    """Predict each model on each wire, then measure it there."""
    if os.getuid() != 0 or shutil.which("tc") is None:
        print("networks need root and tc; left out", flush=True)
        return
    rows = []
    here = {case: figures(case, None) for case in MODELS}
    for network, rate in NETWORKS.items():
        make_network(rate)
        try:
            speed = wire_speed()
            for case in MODELS:
                found = forecast(here[case], 1, 2, 2, speed)
                truth = (here[case].step_s or 0.0) / (figures(case, network).step_s or 1.0)
                rows.append(
                    Row(
                        f"forecast, {case} on {network} ({speed.bytes_per_s / 1e6:.0f} MB/s measured): "
                        "throughput beside one node's",
                        f"predicted {found.gain:.2f}x (±{found.gain_error:.2f})",
                        f"measured {truth:.2f}x",
                        abs(found.gain - truth) / found.gain_error,
                        WITHIN,
                    )
                )
                print(rows[-1], flush=True)
        finally:
            remove_network()
    emit(rows)


if __name__ == "__main__":
    main()
