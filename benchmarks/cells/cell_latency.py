"""`%%distributed` through a real kernel, p50 above its own floor; peer: blocking `%%px`, same engines."""

from __future__ import annotations

import os
import random
import time

from jupyter_client.manager import KernelManager

from benchmarks.measure import Row, emit, middle

REPEATS = int(os.environ.get("BENCH_CELLS", "40"))
SIZES = tuple(int(n) for n in os.environ.get("BENCH_SIZES", "2,8,16").split(","))
LIMIT = 0.33
CELLS = {"pass": "pass", "print": "print(1)", "all_reduce": "dist.all_reduce(t)"}


class Kernel:
    """A kernel and a front end that waits for idle and reply, as JupyterLab does."""

    def __init__(self) -> None:
        self.manager = KernelManager()
        self.manager.start_kernel()
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code: str) -> float:
        """Seconds from execute to idle and reply."""
        began = time.perf_counter()
        message = self.client.execute(code)
        while True:
            got = self.client.get_iopub_msg(timeout=120)
            mine = got["parent_header"].get("msg_id") == message
            if mine and got["content"].get("execution_state") == "idle":
                break
        reply = self.client.get_shell_msg(timeout=120)
        while reply["parent_header"].get("msg_id") != message:
            reply = self.client.get_shell_msg(timeout=120)
        assert reply["content"]["status"] == "ok", reply["content"]
        return time.perf_counter() - began

    def close(self) -> None:
        """End it, and its cluster with it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel()


def measure(size: int) -> list[Row]:
    """Shuffled turns of ours, theirs and nothing."""
    kernel = Kernel()
    try:
        kernel.run("%load_ext dtrain_lab")
        name = f"cells-{os.getpid()}-{size}"  # other clusters of this user may run beside it
        kernel.run(f"%distributed start --ranks {size} --no-monitor --name {name}")
        kernel.run(
            "%%distributed\nimport torch, torch.distributed as dist\nt = torch.ones(1)\ndist.all_reduce(t)"
        )
        kernel.run(
            # ipyparallel's own view, which takes no turns with cells
            f"import dtrain_lab as dt\nmine = next(c for c in dt.clusters() if c.name == '{name}')\n"
            f"view = mine.view().client[:]\nassert len(view.targets) == {size}\n"
            "view.block = True\nview.activate()"
        )
        kernel.run("%%px\nimport torch, torch.distributed as dist\nt = torch.ones(1)\ndist.all_reduce(t)")
        times: dict[tuple[str, str], list[float]] = {}
        turns = [(name, how) for name in CELLS for how in ("%%distributed\n", "%%px\n")] + [("pass", "")]
        for repeat in range(REPEATS + 5):
            random.shuffle(turns)
            for name, how in turns:
                time.sleep(0.02)  # the other's leftovers
                seconds = kernel.run(how + CELLS[name])
                if repeat >= 5:
                    times.setdefault((name, how), []).append(seconds)
    finally:
        kernel.close()
    floor = middle(times["pass", ""])
    rows = []
    for name in CELLS:
        ours, theirs = middle(times[name, "%%distributed\n"]), middle(times[name, "%%px\n"])
        rows.append(
            Row(
                f"{size} ranks, cell `{CELLS[name]}`, above the floor of {floor * 1e3:.1f} ms",
                f"{(ours - floor) * 1e3:.1f} ms",
                f"{(theirs - floor) * 1e3:.1f} ms, %%px",
                (ours - floor) / (theirs - floor),
                LIMIT,
            )
        )
    return rows


def main() -> None:
    """All sizes."""
    for size in SIZES:
        emit(measure(size))


if __name__ == "__main__":
    main()
