"""Reported communication against the truth: sync and no_sync steps in turn, the optimizer stepping in both.

Compute is device-like: real parameters, buckets and buffers, and layers that take a known time without using
the processor. Four models on three networks of two hosts (namespaces; loopback where there is no `ip`), and a
control that never communicates. Beside it: what exposure alone would report. A truth whose halves differ by
more than a point can't judge a limit of one: that run is done again, twice at most. Then three models that
compute on the processor, each rank on a core of its own, where the truth is stable: its halves differ by 4
points at most.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from statistics import mean, median
from typing import Any

from benchmarks.measure import Row, emit
from benchmarks.real_models import REAL, real_model
from benchmarks.slow_network import FIRST, SECOND, make_network, remove_network
from dtrain_lab.metrics import communication, estimates, ring
from dtrain_lab.node.samples.sampler import RECORDS
from dtrain_lab.wire.links import RankSample

CYCLES = int(os.environ.get("BENCH_CYCLES", "80"))
FEWEST, LONG_S = 40, 40.0
"""Half of them are enough where they take so long: what delays a step counts for less in a long one."""
SYNC, ALONE = 6, 5
FROM_PROBE = 8
"""The first probes come within 57 steps."""
LOOK_EACH = 10
"""Steps between two looks at what is reported."""
MODELS = {
    # layers, parameters of each, ms of backward of each, buffers
    "even": (12, 60_000, 2.0, False),
    "large last": (6, 200_000, 4.0, False),
    "many small": (30, 8_000, 1.0, False),
    "with buffers": (10, 60_000, 3.0, True),
}
STABLE = 0.04
CERTAIN = 0.01
TRIES = 3
NETWORKS = {"loopback": None, "1 Gbit": "1gbit", "200 Mbit": "200mbit"}


def rank_main(rank: int, address: str, port: int, model: str, control: bool) -> None:
    """One rank of a measurement."""
    import time

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    from dtrain_lab.rank.monitor.monitor import Monitor

    torch.set_num_threads(1)
    torch.manual_seed(rank)
    layers, size, backward_ms, buffers = MODELS.get(model, (0, 0, 0.0, False))

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            ctx.size = weight.shape
            time.sleep(backward_ms / 2e3)
            return x + weight[0]

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            time.sleep(backward_ms / 1e3)
            return grads[0], torch.full(ctx.size, 0.01)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            count = [size * (3 if model == "large last" and i == layers - 1 else 1) for i in range(layers)]
            self.weights = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(n)) for n in count)
            if buffers:
                self.register_buffer("mean", torch.zeros(20_000))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for weight in self.weights:
                x = Layer.apply(x, weight)
            return x

    dist.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=rank, world_size=2)
    memory = memoryview(bytearray(ring.BYTES))
    monitor = Monitor(memory, 2)
    net, x = real_model(model) if model in REAL else (Net(), torch.ones(8, 1, requires_grad=True))
    ddp = DistributedDataParallel(net, bucket_cap_mb=0.5)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-4)
    monitor.begin_cell()

    def together() -> float:
        """How long the slower rank has measured, s."""
        measured = torch.tensor([time.monotonic() - began])
        with monitor.recorder.resting():  # it is the benchmark's own
            dist.all_reduce(measured, dist.ReduceOp.MAX)
        return float(measured.item())

    def step(sync: bool) -> float:
        began = time.perf_counter()
        if sync:
            ddp(x).mean().backward()
        else:
            with ddp.no_sync():
                ddp(x).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter() - began

    for _ in range(10):
        step(not control)
    with_, without = [], []
    reader = ring.Reader(memory)
    began = time.monotonic()
    for cycle in range(CYCLES):
        if together() > LONG_S and cycle >= min(FEWEST, CYCLES):
            break
        times = [step(not control) for _ in range(SYNC)]
        # probes are what the estimate is made of, and no usual step
        probed = [bool(r.flags & ring.PROBED) for r in reader.last(SYNC)]
        with_ += [t for t, p in zip(times, probed, strict=True) if not p][1:]
        together()
        without += [step(False) for _ in range(ALONE)][1:]
    every = reader.last(900)
    # what DDP tells of a step is known at the next synced one: the last of each block goes without; and
    # nobody waits in the first, which the truth leaves out, too
    records = [
        r
        for before, r, after in zip(every, every[1:], every[2:], strict=False)
        if control or before.flags & r.flags & after.flags & ring.SYNCED
    ]
    told = reported(records, from_probe=0 if control else FROM_PROBE)
    bare = median((r.exposed + r.tail) / r.wall for r in records if not r.flags & ring.PROBED)
    sides = [(v[: len(v) // 2], v[len(v) // 2 :]) for v in (without, with_)]
    halves = [1 - median(sides[0][n]) / median(sides[1][n]) for n in (0, 1)]
    result = {
        "truth": 1 - median(without) / median(with_),
        "unstable": abs(halves[0] - halves[1]),
        "ours": mean(told),
        "bare": bare,
        "step_ms": median(with_) * 1e3,
    }
    print(f"FOUND {json.dumps(result)}", flush=True)
    together()
    os._exit(0)


def reported(records: list[ring.StepRecord], from_probe: int) -> list[float]:
    """What the panel shows in the course of a run, now and then, as soon as there are so many probes."""
    shares, probes = [], 0
    for count, record in enumerate(records, start=1):
        probes += bool(record.flags & ring.PROBED)
        if probes < from_probe or count < LOOK_EACH or count % LOOK_EACH:
            continue
        found = estimates.rank_metrics(records[max(0, count - RECORDS) : count], record.ended)
        seen = RankSample(
            rank=0,
            step_s=found.step_s,
            data_s=found.data_s,
            exposed_s=found.exposed_s,
            exposed_error_s=found.exposed_error_s,
            synced=found.synced,
            on_processor=found.on_processor,
        )
        shares.append(communication.split([seen], 2, crowded=True)[0].comm_overhead)
    return shares


def measure(network: str, model: str, control: bool = False) -> dict[str, float]:
    """One configuration; the mean of both ranks."""
    rate = NETWORKS[network]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = "127.0.0.1" if rate is None else "10.77.0.1"
    processes = []
    for rank, space in enumerate((FIRST, SECOND)):
        command = [
            sys.executable,
            "-m",
            "benchmarks.metrics.overhead_truth",
            str(rank),
            address,
            str(port),
            model,
        ]
        command += ["control"] if control else []
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        if rate is not None:
            command = ["ip", "netns", "exec", space, *command]
            environment["GLOO_SOCKET_IFNAME"] = space
        processes.append(
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
    found = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        if "FOUND " not in out:
            raise RuntimeError(err[-2000:])
        found.append(json.loads(out.split("FOUND ")[1]))
    return {k: sum(f[k] or 0.0 for f in found) / 2 for k in found[0]}


def certain(network: str, model: str) -> dict[str, float]:
    """One configuration, with the first truth whose halves agree; all runs are shown, the last counts."""
    for _ in range(TRIES):
        found = measure(network, model)
        show(network, model, found)
        if found["unstable"] <= CERTAIN:
            break
    return found


def show(network: str, model: str, f: dict[str, float]) -> None:
    """A line of the table."""
    print(
        f"{network:9s} {model:13s} step {f['step_ms']:6.1f} ms, truth {f['truth']:6.1%}, "
        f"reported {f['ours']:6.1%}, exposure alone {f['bare']:6.1%}, halves {f['unstable']:.1%} apart",
        flush=True,
    )


def main() -> None:
    """Measure all, print a table, and the worst as the figure."""
    rows, worst, worst_bare = [], 0.0, 0.0
    real: list[float] = []
    wanted = os.environ.get("BENCH_NETWORKS", ",".join(NETWORKS)).split(",")
    for network, rate in NETWORKS.items():
        if network not in wanted:
            continue
        if rate is not None and (os.getuid() != 0 or shutil.which("tc") is None):
            print(f"{network}: needs root and tc; left out", flush=True)
            continue
        try:
            if rate is not None:
                make_network(rate)
            for model in MODELS:
                f = certain(network, model)
                rows.append((network, model, f))
                worst = max(worst, abs(f["ours"] - f["truth"]))
                worst_bare = max(worst_bare, abs(f["bare"] - f["truth"]))
            for model in REAL:
                f = measure(network, model)
                show(network, model, f)
                if f["unstable"] <= STABLE:
                    real.append(abs(f["ours"] - f["truth"]))
        finally:
            if rate is not None:
                remove_network()
    control = measure("loopback", "even", control=True)
    points = worst * 100
    emit(
        [
            Row(
                f"reported communication against the truth, {len(rows)} configurations: worst, points",
                f"{points:.2f}",
                f"exposure alone: {worst_bare * 100:.2f}",
                points,
                1.0,
            ),
            Row(
                f"the same, computing on the processor, {len(real)} with a stable truth: worst, points",
                f"{max(real, default=0.0) * 100:.2f}",
                f"of {len(REAL) * len(wanted)}",
                max(real, default=1.0) * 100,
                5.0,
            ),
            Row(
                "the same, no rank ever syncs",
                f"{control['ours']:.2%}",
                "truth 0",
                control["ours"] * 100,
                0.5,
            ),
        ]
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        rank_main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], "control" in sys.argv)
    else:
        main()
