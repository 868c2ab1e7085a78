"""Ways to hang on four ranks: how long after the threshold the verdict comes, and whether it is right.

The scenarios are those of `tests/integration/faults/test_hangs.py`. Peer: torch's own flight recorder and
`monitored_barrier` say nothing before the group's time-out (30 min by default).
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import dtrain_lab as dt
from benchmarks.measure import Row, emit
from tests.integration.faults.test_hangs import AFTER, BEFORE, HANGS, THRESHOLD_S

POLL_S = 0.03
WITHIN_S = 15.0


def verdict_of(cluster: dt.Cluster, code: str) -> tuple[dict[str, Any] | None, threading.Thread]:
    """Run a cell that hangs until there is a verdict."""
    thread = threading.Thread(target=cluster.run, args=(code,), kwargs={"check": False}, daemon=True)
    thread.start()
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        verdicts = cluster.info()["metrics"]["verdicts"]
        if verdicts:
            return verdicts[0], thread
        time.sleep(POLL_S)
    return None, thread


def main() -> None:
    """Run each, print the table, and the slowest as the figure."""
    folder = Path(tempfile.mkdtemp()) / "dtrain-lab" / "profiles"
    folder.mkdir(parents=True)
    (folder / "watched.toml").write_text(f"ranks_per_node = 4\n[watch]\nstuck_after_s = {THRESHOLD_S}\n")
    os.environ["JUPYTER_CONFIG_DIR"] = str(folder.parents[1])
    right, slowest = 0, 0.0
    with dt.start("watched", name="hangs") as cluster:
        for name, hang in HANGS.items():
            found, thread = verdict_of(cluster, BEFORE + hang.code + AFTER)
            good = found is not None and (found["kind"], found["ranks"]) == (hang.kind, hang.ranks)
            right += good and found is not None and found["text"] == hang.says
            after = (found["since_s"] if found is not None else WITHIN_S) - THRESHOLD_S
            slowest = max(slowest, after)
            print(
                f"{name:10s} threshold + {after:.2f} s: {found['text'] if found else 'nothing'}", flush=True
            )
            if name == "stop":
                os.kill(cluster.info()["ranks"][3]["pid"], signal.SIGCONT)
            cluster.interrupt()
            thread.join(5)
            if thread.is_alive():
                cluster.restart("3")
                thread.join(30)
    peer = "none before the group's time-out"
    emit(
        [
            Row("hang verdict after the threshold, slowest, s", f"{slowest:.2f}", peer, slowest, 0.5),
            Row("… right rank and cause", f"{right} of {len(HANGS)}", peer, len(HANGS) - right, 0),
        ]
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
