"""Clusters and jobs with figures that never change, made of the product's own types."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from dtrain_lab.metrics import over_ranks
from dtrain_lab.metrics.own_time import own_s
from dtrain_lab.services.profiles.files import Listed
from dtrain_lab.wire.cells import RunningCell
from dtrain_lab.wire.cluster import Cluster, Rank, World
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.world import Last, Metrics
from dtrain_lab.wire.node_use import Node
from dtrain_lab.wire.profile import Environment, Profile, Slurm
from dtrain_lab.wire.site import Site
from dtrain_lab.wire.stacks import Where
from dtrain_lab.wire.summary import Summary
from dtrain_lab.wire.traits import Traits
from dtrain_lab.world.members import Member, Members
from dtrain_lab.world.paused_ranks import StopError
from dtrain_lab.world.state import State
from dtrain_lab.world.summary import summarize

NOW = 1772453191.0
"""2026-03-02, 12:06:31 UTC: the time of all pictures."""
GIB = 2**30

SITE = Site(
    node="workstation",
    cpus=64,
    gpus=8,
    memory_bytes=512 * GIB,
    default_ranks=8,
    most_ranks=2048,
    local=True,
    may_write=True,
)
PROFILES = (
    Listed(
        "local", "local", None, Profile(name="local"), traits=Traits(one_machine=True, shares_folder=True)
    ),
    Listed(
        "hpc-a100",
        "slurm",
        "hpc-a100.toml",
        Profile(
            name="hpc-a100",
            backend="slurm",
            nodes=4,
            ranks_per_node=8,
            environment=Environment("conda", "/opt/envs/torch-2.13"),
            slurm=Slurm(partition="gpu", time="24:00:00"),
        ),
        traits=Traits(schedules=True, shares_folder=True, launchers=("srun", "torchrun")),
    ),
    Listed("lab-ssh", "ssh", "lab-ssh.toml", Profile(name="lab-ssh", backend="ssh"), traits=Traits()),
)


def wobble(*numbers: int) -> float:
    """A number between 0 and 1 that looks random and is the same in each run."""
    return zlib.crc32(repr(numbers).encode()) / 2**32


def ranks_of(size: int, step: int = 1800, *, slow: int | None = None, local: bool = True) -> tuple[Rank, ...]:
    """Ranks that train, eight a node.

    Args:
        size: how many.
        step: number of the step.
        slow: a rank whose own time is half again as long.
        local: on one machine.
    """
    found = []
    for index in range(size):
        own = 0.153 + 0.007 * wobble(index, step)
        if index == slow:
            own += 0.061
        wait = 0.005 if index == slow else 0.012 + 0.004 * wobble(step, index)
        transfer = 0.033
        step_s = own + wait + transfer
        found.append(
            Rank(
                rank=index,
                node="workstation" if local else f"gpu-{index // 8 + 1:02}",
                local_rank=index % 8,
                device=f"cuda:{index % 8}",
                pid=4100 + index,
                state="in collective" if (index + step) % 4 == 2 else "busy",
                doing="all_reduce" if (index + step) % 4 == 2 else None,
                slow=index == slow,
                step=step,
                steps_per_s=1 / step_s,
                samples_per_s=160.0 + wobble(index),
                step_s=step_s,
                data_s=0.006,
                compute_s=own - 0.02,
                optimizer_s=0.014,
                transfer_s=transfer,
                wait_s=wait,
                comm_overhead=(wait + transfer) / step_s,
                comm_overhead_error=0.02,
                cpu_utilization=1.0,
                memory_bytes=9 * GIB,
                device_memory_bytes=int((61.2 + 0.2 * wobble(index)) * GIB),
                device_memory_total_bytes=80 * GIB,
                device_utilization=0.93 + 0.05 * wobble(index),
                last_seen_s=0.2,
            )
        )
    return tuple(found)


def as_sent(cluster: Cluster) -> Cluster:
    """The cluster with what its head works out of its ranks and nodes."""
    ranks = tuple(
        replace(rank, own_s=own_s(rank.step_s, (rank.comm_overhead or 0.0) * (rank.step_s or 0.0)))
        for rank in cluster.ranks
    )
    metrics = over_ranks.with_largest(cluster.metrics, ranks, cluster.nodes)
    return replace(cluster, ranks=ranks, metrics=metrics)


def resting(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """The same ranks once their cell has ended: idle, without figures of steps that they make no more."""
    return tuple(
        Rank(
            r.rank,
            r.node,
            r.local_rank,
            r.device,
            r.pid,
            "idle",
            step=r.step,
            cpu_utilization=0.01,
            memory_bytes=r.memory_bytes,
            device_memory_bytes=r.device_memory_bytes,
            device_memory_total_bytes=r.device_memory_total_bytes,
            device_utilization=0.0,
            last_seen_s=r.last_seen_s,
        )
        for r in ranks
    )


def nodes_of(ranks: Sequence[Rank]) -> tuple[Node, ...]:
    """The nodes of ranks."""
    return tuple(
        Node(name, f"10.0.{i // 250}.{i % 250 + 1}", "ready", 0.4 + 0.2 * wobble(i), 1.1e8, 1.2e8)
        for i, name in enumerate(dict.fromkeys(r.node for r in ranks))
    )


def metrics_of(ranks: Sequence[Rank], **changes: Any) -> Metrics:
    """Figures of a world that trains; transfer and waiting are its communication."""
    middle = sorted(ranks, key=lambda r: r.step_s or 0)[len(ranks) // 2]
    step, share = middle.step_s or 0.0, 0.23
    wait = step * sum((r.wait_s or 0.0) / (r.step_s or 1.0) for r in ranks) / len(ranks)
    metrics = Metrics(
        samples_per_s=160.75 * len(ranks),
        step_s=step,
        data_s=0.006,
        compute_s=0.133,
        optimizer_s=0.014,
        transfer_s=share * step - wait,
        wait_s=wait,
        comm_overhead=share,
        comm_overhead_error=0.02,
        values={"loss": 1.402, "lr": 0.0003},
        averaged=("loss",),
    )
    return replace(metrics, **changes)


def cluster_of(name: str, ranks: tuple[Rank, ...], **changes: Any) -> Cluster:
    """A cluster that waits for a cell.

    Args:
        name: also its id.
        ranks: of it; those of one that runs no cell are `resting`.
        changes: whatever else differs.
    """
    size = len(ranks)
    cluster = Cluster(
        id=name,
        name=name,
        profile="local",
        state="ready",
        reason=None,
        summary=Summary("ready", {"total": size}, f"Ready. {size} ranks wait for a cell."),
        world=World(size, 0),
        nodes=nodes_of(ranks),
        ranks=ranks,
        metrics=Metrics(current=False),
        progress=(),
        notebooks=("train.ipynb",),
        owner="ada",
        may=("stop", "restart", "stacks"),
        created_at=NOW - 900,
    )
    return replace(cluster, **changes)


def training(name: str, ranks: tuple[Rank, ...], **changes: Any) -> Cluster:
    """A cluster that trains in cell [7] of train.ipynb."""
    size = len(ranks)
    known: dict[str, Any] = {
        "summary": Summary("training", {"total": size}, f"Training. All {size} ranks keep pace."),
        "metrics": metrics_of(ranks),
        "running": (RunningCell("[7]", "train.ipynb", tuple(range(size)), NOW - 372, "cell-2"),),
        "may": ("stop", "restart", "stacks", "interrupt"),
    }
    return cluster_of(name, ranks, **{**known, **changes})


PLACE = Where("train.ipynb", "[7]", None, "<module>", 10, "cell-2")
"""Where ranks have stopped."""


def paused(name: str, ranks: tuple[Rank, ...], *, waits: bool = True, at: Where | None = PLACE) -> Cluster:
    """A cluster whose ranks stand in the debugger.

    Args:
        name: also its id.
        ranks: of it.
        waits: all of them but rank 5, which is in a collective.
        at: the line of all that stand; None if they stand at several.
    """
    return _paused(name, ranks, {r.rank: "" for r in ranks if not waits or r.rank != 5}, at)


def paused_at(name: str, ranks: tuple[Rank, ...], error: StopError) -> Cluster:
    """A cluster whose debugger has stopped ranks at their error; the others wait for them.

    Args:
        name: also its id.
        ranks: of it.
        error: the error, and the ranks that have raised it.
    """
    place = Where(file="/home/ada/sft/preparation.py", function="normalize", line=31)
    return _paused(name, ranks, dict.fromkeys(error.ranks, error.text), place)


def _paused(name: str, ranks: tuple[Rank, ...], stopped: dict[int, str], at: Where | None) -> Cluster:
    """Ranks stand in the debugger, some with the error at which they do; the others are in a collective."""
    standing = tuple(
        replace(r, state="paused", doing=None, where=at or r.where)
        if r.rank in stopped
        else replace(r, state="in collective", doing="all_reduce")
        for r in ranks
    )
    members = Members(Member(r.rank, r.pid, True, 0, "run-7", "run-7", False) for r in ranks)
    waiting = {r.rank: "all_reduce" for r in ranks if r.rank not in stopped}
    world = State("ready", members=members)
    return training(
        name,
        standing,
        summary=summarize(name, world, Metrics(), (), paused=stopped, at=at, waiting=waiting),
        metrics=metrics_of(standing, current=False, last=LAST),
        state="paused",
    )


LAST = Last(samples_per_s=1286.0, step_s=0.204, comm_overhead=0.23, comm_overhead_error=0.02)
"""What stands beside figures of a world of 8 that does not make steps now."""


def past(size: int, minutes: int = 5) -> list[Point]:
    """The past of a world that trains, a point each 5 s."""
    count = minutes * 12
    return [
        Point(
            at=NOW - 5 * (count - i),
            step=1800 - 25 * (count - i),
            samples_per_s=160.75 * size * (0.985 + 0.03 * wobble(i)),
            step_s=0.199,
            wait_s=0.012 + 0.003 * wobble(i, 1),
            transfer_s=0.033,
            comm_overhead=0.22 + 0.02 * wobble(i, 2),
            comm_overhead_error=0.02,
            memory_bytes=int(61.3 * GIB),
            network_bytes_per_s=2.3e8 * (0.95 + 0.1 * wobble(i, 3)),
            values={
                "loss": 1.4 + 1.3 * (1 - i / count) + 0.05 * wobble(i, 4),
                "step": 1800 - 25 * (count - i),
            },
        )
        for i in range(count)
    ]
