"""What `dt.optimize` gains on a wire of 1 Gbit: accumulation, compression, tuned buckets.

Two hosts (network namespaces), a model whose layers take a known time without the processor and whose
gradients take longer on the wire than that. Each way and its peer in turn, in one process. The limits come
from the measured split: time without averaging, and time that averaging adds.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.measure import Row, emit
from benchmarks.slow_network import FIRST, SECOND, make_network, remove_network

RATE = "1gbit"
CYCLES = int(os.environ.get("BENCH_CYCLES", "8"))
EVERY, STEPS = 8, 16
MODELS = {
    # layers, parameters of each, ms of backward of each
    "large": (6, 1_000_000, 3.0),
    "many small": (60, 30_000, 0.5),
    "one large": (2, 3_000_000, 5.0),
}


def net(name: str, *, small: bool = False) -> Any:
    """A model of which each layer takes a known time, and no processor; `small`: with few parameters."""
    import torch

    layers, size, backward_ms = MODELS[name]
    size = 100 if small else size

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
            self.weights = torch.nn.ParameterList(
                torch.nn.Parameter(torch.zeros(size)) for _ in range(layers)
            )

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for weight in self.weights:
                x = Layer.apply(x, weight)
            return x

    return Net()


def rank_main(rank: int, address: str, port: int) -> None:
    """One rank of all measurements."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import dtrain_lab as dt

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=rank, world_size=2)
    x = torch.ones(8, 1, requires_grad=True)

    def timed(model: Any, optimizer: Any, steps: int = STEPS, alone: bool = False) -> float:
        """Seconds per batch of an ordinary loop."""
        dist.barrier()
        began = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad()
            if alone:
                with model.no_sync():
                    model(x).mean().backward()
            else:
                model(x).mean().backward()
            optimizer.step()
        return (time.perf_counter() - began) / steps

    def pair(name: str, **switches: Any) -> tuple[Any, Any]:
        model = net(name)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        return dt.optimize(model, optimizer, **switches) if switches else (
            DistributedDataParallel(model), optimizer
        )  # fmt: skip

    plain, accumulated = pair("large"), pair("large", gradient_accumulation_steps=EVERY)
    compressed = pair("large", gradient_compression="bf16")
    ways: dict[str, Callable[[], float]] = {
        "plain": lambda: timed(*plain),
        "alone": lambda: timed(*plain, alone=True),
        "accumulated": lambda: timed(*accumulated),
        "bf16": lambda: timed(*compressed),
    }
    for way in ways.values():
        way()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(CYCLES):
        for name, way in ways.items():
            times[name].append(way())
    found: dict[str, Any] = {name: median(values) for name, values in times.items()}
    found["error"] = compressed[0].gradient_compression.error
    for name in MODELS:
        tuned, default = pair(name, bucket_cap_mb="tune"), pair(name)
        began = time.perf_counter()
        while not tuned[0].bucket_tuning.done:
            timed(*tuned, steps=4)
        took = time.perf_counter() - began
        both: list[tuple[float, float]] = []
        for cycle in range(CYCLES + 1):
            both.append((timed(*default), timed(*tuned)))
            if not cycle:
                both.clear()
        gain = median(a for a, _ in both) / median(b for _, b in both)
        found[f"tuned {name}"] = gain, tuned[0].bucket_tuning.best, took
    if rank == 0:
        print("FOUND " + json.dumps(found), flush=True)
    dist.barrier()


def measured() -> dict[str, Any]:
    """All figures, of rank 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank, space in enumerate((FIRST, SECOND)):
        command = [
            "ip",
            "netns",
            "exec",
            space,
            sys.executable,
            "-m",
            "benchmarks.training.cheaper_averaging",
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": space}
        processes.append(
            subprocess.Popen(
                [*command, str(rank), "10.77.0.1", str(port)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    outputs = [process.communicate(timeout=540) for process in processes]
    if "FOUND " not in outputs[0][0]:
        raise RuntimeError("\n".join(err[-2000:] for _, err in outputs))
    print(outputs[0][1], flush=True)
    answer: dict[str, Any] = json.loads(outputs[0][0].split("FOUND ")[1])
    return answer


def main() -> None:
    """Measure on the emulated wire, and compare with what the split allows."""
    if os.getuid() != 0 or shutil.which("tc") is None:
        print("needs root and tc; left out", flush=True)
        return
    try:
        make_network(RATE)
        found = measured()
    finally:
        remove_network()
    plain, alone = found["plain"], found["alone"]
    sent = plain - alone
    limit = alone + sent / EVERY
    halved = plain / (alone + sent / 2)
    rows = [
        Row(
            f"accumulate {EVERY} on 1 Gbit, {sent / plain:.0%} communication: time of a batch",
            f"{found['accumulated'] * 1e3:.1f} ms ({plain / found['accumulated']:.2f}x plain)",
            f"limit {limit * 1e3:.1f} ms ({plain / limit:.2f}x)",
            found["accumulated"] / limit,
            1 / 0.9,
        ),
        Row(
            f"bf16 hook on 1 Gbit, error {found['error']:.2%}: time of a batch",
            f"{found['bf16'] * 1e3:.1f} ms ({plain / found['bf16']:.2f}x plain)",
            f"the bytes allow {halved:.2f}x; asked: 1.5x or 0.9 of that",
            min(1.5, 0.9 * halved) / (plain / found["bf16"]),
            1.0,
        ),
    ]
    for name in MODELS:
        gain, best, took = found[f"tuned {name}"]
        kept = "torch's default" if best is None else f"{best:g} MB"
        rows.append(
            Row(
                f"tuned buckets, {name}: {kept} kept in {took:.0f} s, time of a batch",
                f"{gain:.2f}x",
                "torch's default",
                1 / gain,
                1 / 0.98,
            )
        )
    emit(rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        rank_main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    else:
        main()
