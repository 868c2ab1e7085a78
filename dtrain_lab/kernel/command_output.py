"""What the line commands print about a cluster: its state, advice, forecasts, the parts of a step."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dtrain_lab.api.cluster import Cluster
from dtrain_lab.kernel import cluster_choice
from dtrain_lab.metrics.advice import text as advice_text
from dtrain_lab.metrics.other_waits import part_share
from dtrain_lab.metrics.outdated import as_of_now, last_text
from dtrain_lab.text.state_words import word
from dtrain_lab.text.units import duration, least_share
from dtrain_lab.wire.cluster import Cluster as ClusterInfo
from dtrain_lab.world.summary import interrupted


def status(cluster: Cluster) -> None:
    """Print the state of a cluster and of each rank."""
    info = cluster.snapshot()
    print(f"{info.name}: {info.summary.text}")
    if info.ends_at is not None and info.ends_at != info.limit_at:
        print(f"Ends in {duration(info.ends_at - time.time())} unless a cell runs.")
    if info.limit_at is not None and "allocation" not in info.summary.text:
        print(f"Its allocation ends in {duration(info.limit_at - time.time())}.")
    if batch := advice_text.batch(info.metrics, info.world.size):
        print(f"{batch[0].upper()}{batch[1:]}.")
    if last := last_text(info.metrics):
        print(last)
    for line in rank_lines(info):
        print(line)


def interrupt(cluster: Cluster, ranks: str) -> None:
    """Interrupt ranks, and print whether there was a cell to interrupt.

    Args:
        cluster: The cluster that runs the cell.
        ranks: Rank set; empty for all ranks.
    """
    before = cluster.snapshot()
    cluster.interrupt(ranks or None)
    print(interrupted(before, ranks))


def advise(cluster: Cluster, notebook: str | None, tried: str | None = None) -> None:
    """Print what would make training faster, or what a piece of advice gains.

    Args:
        cluster: The cluster that trains.
        notebook: Path of this notebook.
        tried: Id of the advice to try; None prints all advice.
    """
    if tried is not None:
        print(cluster.try_advice(tried)["text"])
        return
    advice, info = cluster.advise(), cluster.snapshot()
    for line in [*cluster_choice.about(info, notebook), *advice_text.lines(advice, info)]:
        print(line)


def forecast(cluster: Cluster, nodes: int, ranks_per_node: int | None, profile: str | None) -> None:
    """Print the throughput that the last training loop would have on more nodes.

    Args:
        cluster: The cluster whose loop it was.
        nodes: Number of nodes.
        ranks_per_node: Ranks on each; None for as many as the cluster has.
        profile: Profile of the nodes; None for the cluster's own.
    """
    print(cluster.forecast(nodes, ranks_per_node, profile)["text"])


def diagnose(cluster: Cluster, notebook: str | None) -> None:
    """Print how the time of a training step is divided.

    Args:
        cluster: The cluster that trains.
        notebook: Path of this notebook.
    """
    diagnosis = cluster.diagnose()
    for line in [*cluster_choice.about(cluster.snapshot(), notebook), diagnosis.text]:
        print(line)
    for check in (diagnosis.communication, diagnosis.data):
        if check is not None:
            print(check.text)
    for note in diagnosis.notes:
        print(note)


def where(cluster: Cluster) -> None:
    """Print the position of each rank."""
    for rank, place in cluster.where().items():
        print(f"[{rank}] {place}")


def stacks(texts: dict[int, str], *, all_threads: bool) -> None:
    """Print the stacks of the ranks' main threads, equal ones once.

    Args:
        texts: As `Cluster.stacks` returns them.
        all_threads: Print those of all threads instead, one rank after another.
    """
    if all_threads:
        print("\n\n".join(f"Rank {rank}:\n{text.rstrip()}" for rank, text in texts.items()))
    else:
        print(f"{texts}\n\nAll threads, with libraries: %distributed stacks --all")


WIDTH = 72
"""Characters that a line of a notebook has room for beside the panel, in a window of 1024 pixels."""
FACTS = 5
"""Number of columns of a rank before its metrics."""


def rank_lines(info: ClusterInfo) -> list[str]:
    """Return the ranks as a text table, whose columns are as wide as their texts; without absent metrics.

    Metrics of steps that are no longer taken count as absent, as in the panel.

    If the columns are too wide for a line, the metrics of a rank are below its state.
    """
    rows = []
    for rank in as_of_now(info).ranks:
        share = least_share(rank.comm_overhead, rank.comm_bound, rank.comm_overhead_error)
        asleep = part_share(rank)
        rows.append(
            (
                f"rank {rank.rank}",
                word(rank.state),
                rank.device,
                f"step {rank.step}" if rank.step is not None else "",
                f"{rank.memory_bytes / 2**30:.1f} GiB" if rank.memory_bytes else "",
                f"{rank.samples_per_s:,.1f} samples/s" if rank.samples_per_s is not None else "",
                f"communication {share}" if rank.comm_overhead is not None else "",
                f"other waits {least_share(asleep, '')}" if asleep is not None else "",
            )
        )
    whole = _aligned(rows)
    if max(map(len, whole), default=0) <= WIDTH:
        return whole
    facts, metrics = _aligned([row[:FACTS] for row in rows]), _aligned([row[FACTS:] for row in rows])
    indent = " " * (3 + max(len(row[0]) for row in rows))
    lines = [(above, f"{indent}{below}".rstrip()) for above, below in zip(facts, metrics, strict=True)]
    return [line for pair in lines for line in pair if line]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows as lines, without columns that are empty in all rows."""
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    widths = [max(map(len, column)) for column in columns]
    return [f"  {'   '.join(map(str.ljust, row, widths))}".rstrip() for row in zip(*columns, strict=True)]
