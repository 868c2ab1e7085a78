"""What advice promises against what it brings: each change that is advised is made, and measured in turn.

Two ranks under the monitor, as in a cluster, with layers that take a known time without the processor. On two
wires (hosts are network namespaces; loopback alone where there is no `tc`) the models of `cheaper_averaging`
whose gradients take a fifth to most of a step; on loopback loaders that read slowly. Figures come from an
ordinary loop, advice from the product's own function, and the change is the code that it gives.
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

import msgspec
import psutil

from benchmarks.measure import Row, emit
from benchmarks.slow_network import FIRST, SECOND, make_network, remove_network
from benchmarks.training.cheaper_averaging import net
from dtrain_lab.metrics import estimates, ring
from dtrain_lab.metrics.advice import advise
from dtrain_lab.metrics.advice.measured import measured
from dtrain_lab.node.samples.devices import Use
from dtrain_lab.node.samples.sampler import sample
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.node_use import HostUse

CYCLES = int(os.environ.get("BENCH_CYCLES", "3"))
SEEN_S, SEEN = 6.0, 32
"""The loop is measured for so long, and so many steps, before advice is asked for."""
BLOCK = 8
"""Batches in a row of one way; a multiple of all numbers of batches that may be accumulated."""
NETWORKS = {"1 Gbit": "1gbit", "2 Gbit": "2gbit"}
MODELS = ("large", "many small", "one large")
LOADERS = {
    # ms to read a batch, workers
    "reads 15 ms": (15.0, 0),
    "reads 60 ms": (60.0, 0),
    "reads 60 ms with a worker": (60.0, 1),
}
WITHIN, SHARE = 0.15, 0.8
"""A promise holds within 15 % of what was measured, and 80 % of them shall."""


def rank_main(rank: int, address: str, port: int, case: str, *, follows: bool = True) -> None:
    """One rank of a case: measure, ask for advice, follow each piece of it where that is wanted."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, Dataset

    import dtrain_lab as dt
    from dtrain_lab.rank.monitor.monitor import Monitor

    torch.set_num_threads(1)
    read_ms, workers = LOADERS.get(case, (0.0, 0))

    class Slow(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 100_000

        def __getitem__(self, index: int) -> torch.Tensor:
            time.sleep(read_ms / 1e3)
            return torch.ones(1)

    def loader(number: int) -> Any:
        return iter(DataLoader(Slow(), 1, num_workers=number))

    dist.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=rank, world_size=2)
    memory = memoryview(bytearray(ring.BYTES))
    monitor = Monitor(memory, 2)
    reader = ring.Reader(memory)
    x = torch.ones(8, 1, requires_grad=True)

    def train(pair: tuple[Any, Any], batches: Any, steps: int) -> float:
        """Seconds per batch of an ordinary loop."""
        model, optimizer = pair
        with monitor.recorder.resting():
            dist.barrier()
        began = time.perf_counter()
        for _ in range(steps):
            given = x if batches is None else x + next(batches)
            optimizer.zero_grad()
            model(given).mean().backward()
            optimizer.step()
        return (time.perf_counter() - began) / steps

    def pair(**switches: Any) -> tuple[Any, Any]:
        model = net("large" if case not in MODELS else case, small=case in LOADERS)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        if switches:
            return dt.optimize(model, optimizer, **switches)
        return DistributedDataParallel(model), optimizer

    plain, batches = pair(), loader(workers) if case in LOADERS else None
    monitor.begin_cell()
    train(plain, batches, 10)
    process = psutil.Process()
    psutil.cpu_percent(None), process.cpu_percent(None)
    slowest = torch.tensor([train(plain, batches, 10)])
    with monitor.recorder.resting():
        dist.all_reduce(slowest, dist.ReduceOp.MAX)  # all ranks make as many steps
    train(plain, batches, max(SEEN, int(SEEN_S / slowest.item())))
    host = HostUse(psutil.cpu_count() or 1, psutil.cpu_percent(None) / 100, runnable=os.getloadavg()[0])
    use = Use(cpu=process.cpu_percent(None) / 100)
    monitor.probes.on = False
    seen: list[Any] = [None, None]
    with monitor.recorder.resting():
        dist.all_gather_object(seen, sample(rank, reader, use))
        advice: list[Any] = [None]
        if rank == 0:
            found = estimates.world_metrics(seen, 2, crowded=True)
            of = measured(found, seen, 2, [host])
            print("MEASURED " + msgspec.json.encode(of).decode())
            advice = [advise(of) if follows else ()]
            parts = (found.step_s, found.comm_overhead, found.transfer_s, found.data_s)
            print("FIGURES " + json.dumps([*parts, seen[0].averaging_s, use.cpu, host.cpu_utilization]))
        dist.broadcast_object_list(advice)

    def way(one: Advice) -> Callable[[], float] | None:
        """The changed training, as advised."""
        match one.id:
            case "accumulate":
                changed = pair(gradient_accumulation_steps=one.values["every"])
                return lambda: train(changed, batches, BLOCK)
            case "bf16":
                changed = pair(gradient_compression="bf16")
                return lambda: train(changed, batches, BLOCK)
            case "workers":
                ahead = loader(one.values["workers"])
                return lambda: train(plain, ahead, BLOCK)
        return None

    for one in advice[0]:
        changed = way(one)
        if changed is None:
            continue
        changed()
        times = [(train(plain, batches, BLOCK), changed()) for _ in range(CYCLES)]
        truth = median(a for a, _ in times) / median(b for _, b in times)
        if rank == 0:
            result = [one.id, one.values.get("variant", ""), one.gain, one.gain_error, truth]
            print("FOUND " + json.dumps(result), flush=True)
    with monitor.recorder.resting():
        dist.barrier()
    os._exit(0)


def follow(case: str, network: str | None) -> list[Any]:
    """What was promised and measured in a case, for each piece of advice."""
    lines = run(case, network)
    told = [line for line in lines if line.startswith("FIGURES")]
    print(f"{network or 'loopback'}, {case}: {told}", flush=True)
    return [json.loads(line.removeprefix("FOUND ")) for line in lines if line.startswith("FOUND ")]


def run(case: str, network: str | None, *more: str) -> list[str]:
    """Lines of rank 0 of a case; `more`: further arguments of its ranks."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank, space in enumerate((FIRST, SECOND)):
        address = "127.0.0.1" if network is None else "10.77.0.1"
        command = [
            sys.executable,
            "-m",
            "benchmarks.training.advice",
            str(rank),
            address,
            str(port),
            case,
            *more,
        ]
        if network is not None:
            command = ["ip", "netns", "exec", space, *command]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo" if network is None else space,
        }
        processes.append(
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
    outputs = [process.communicate(timeout=300) for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError("\n".join(err[-2000:] for _, err in outputs))
    return outputs[0][0].splitlines()


def main() -> None:
    """Follow the advice of all cases, and compare."""
    cases: list[tuple[str, str | None]] = [(case, None) for case in LOADERS]
    if os.getuid() != 0 or shutil.which("tc") is None:
        print("networks need root and tc; left out", flush=True)
    else:
        cases += [(case, network) for network in NETWORKS for case in MODELS]
    rows: list[Row] = []
    right: list[bool] = []
    for case, network in cases:
        try:
            if network is not None:
                make_network(NETWORKS[network])
            found = follow(case, network)
        finally:
            if network is not None:
                remove_network()
        for change, variant, gain, error, truth in found:
            off = abs(gain / truth - 1)
            right.append(off <= WITHIN)
            rows.append(
                Row(
                    f"advice, {case}{f' on {network}' if network else ''}: {change} {variant}".rstrip(),
                    f"promised {gain:.2f}x (±{error:.2f})",
                    f"measured {truth:.2f}x",
                    gain / truth,
                    None,
                )
            )
            print(rows[-1], flush=True)
    held = sum(right) / len(right) if right else 0.0
    rows.append(
        Row(
            f"advice: promises within {WITHIN:.0%} of what was measured, {len(right)} of them",
            f"{held:.0%}",
            f"at least {SHARE:.0%}",
            SHARE / held if held else None,
            1.0,
        )
    )
    emit(rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        rank_main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], follows=len(sys.argv) == 5)
    else:
        main()
