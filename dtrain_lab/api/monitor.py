"""`cluster.monitor()`: a live view of the ranks as a widget for any Jupyter front end."""

from __future__ import annotations

import contextlib
import html
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import ipywidgets

from dtrain_lab.errors import DtrainError
from dtrain_lab.metrics.advice import text as advice_text
from dtrain_lab.metrics.other_waits import awake
from dtrain_lab.metrics.outdated import as_of_now, last_text
from dtrain_lab.metrics.over_ranks import network_of
from dtrain_lab.text.state_words import word
from dtrain_lab.text.units import least_share, precise_share
from dtrain_lab.wire.cluster import Cluster as ClusterInfo
from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.metrics.thresholds import VAGUE_SHARE
from dtrain_lab.wire.metrics.world import Metrics

PERIOD_S = 0.5
POINTS = 120
MOST_ROWS = 16
GLYPHS = {
    "starting": "◌",
    "idle": "○",
    "busy": "●",
    "in collective": "◉",
    "paused": "⏸",
    "stuck": "▲",
    "lost": "✕",
}
HEADS = ("Rank", "State", "Doing", "Step", "Samples/s", "Communication", "Memory GiB", "CPU")


class Watched(Protocol):
    """What the view needs of a cluster."""

    def snapshot(self) -> ClusterInfo:
        """Return the cluster's current state."""

    def watch(self, changed: Callable[[ClusterInfo], None], period_s: float) -> None:
        """Call a function with the cluster's state whenever it changes, at most every `period_s` seconds.

        Args:
            changed: The function.
            period_s: Minimum interval between two calls, in seconds.
        """

    def unwatch(self, changed: Callable[[ClusterInfo], None]) -> None:
        """Stop calling a function that was passed to `watch`."""


class Monitor(ipywidgets.VBox):  # type: ignore[misc]
    """Widget with the cluster's summary, throughput and communication with history, and a row per rank.

    It updates until `close` or the cluster's end.

    Args:
        cluster: The cluster to watch.
    """

    def __init__(self, cluster: Watched) -> None:
        self._cluster = cluster
        self._rates: deque[float] = deque(maxlen=POINTS)
        self._sentence = ipywidgets.HTML()
        self._metrics = ipywidgets.HTML()
        self._table = ipywidgets.HTML()
        super().__init__([self._sentence, self._metrics, self._table])
        self.show(cluster.snapshot())
        cluster.watch(self.show, PERIOD_S)

    def show(self, info: ClusterInfo) -> None:
        """Update the view to a state of the cluster."""
        info = as_of_now(info)
        metrics = info.metrics
        if metrics.samples_per_s is not None:
            self._rates.append(metrics.samples_per_s)
        self._sentence.value = (
            f"<b>{html.escape(info.name)}</b>: <span role='status'>{html.escape(info.summary.text)}</span>"
        )
        share = "–"
        if metrics.comm_overhead is not None:
            share = _share(metrics.comm_overhead, metrics.comm_overhead_error or 0.0, metrics.comm_bound)
        self._metrics.value = (
            f"{_number(metrics.samples_per_s)} samples/s {_sparkline(self._rates)}{_batch(info)}"
            f" · communication {share}{_parts(metrics)}{_network(info)}{_last(metrics)}"
        )
        self._table.value = _table(info)

    def close(self) -> None:
        """Stop watching, and remove the view."""
        with contextlib.suppress(DtrainError):  # the cluster has ended, or this process ends
            self._cluster.unwatch(self.show)
        super().close()


def _parts(metrics: Metrics) -> str:
    """Return the parts of a step's time as HTML."""
    if not metrics.step_s or metrics.compute_s is None:
        return ""
    parts = {
        "data": metrics.data_s,
        "forward, backward": awake(metrics),
        "transfer": metrics.transfer_s,
        "waiting": metrics.wait_s,
        "optimizer": metrics.optimizer_s,
        "other waits": metrics.asleep_s,
    }
    vague = (metrics.comm_overhead_error or 0.0) >= VAGUE_SHARE
    if vague:  # the split between these is as uncertain as communication's share
        parts = {name: parts[name] for name in ("data", "optimizer")}
    errors = {"data": metrics.data_error}
    shares = [_part(n, s / metrics.step_s, errors.get(n)) for n, s in parts.items() if s is not None]
    shares += ["the rest is too unsteady to split"] if vague else []
    return f"<br>step {metrics.step_s * 1e3:.1f} ms: {' · '.join(shares)}"


def _part(name: str, share: float, error: float | None) -> str:
    """Return a part of a step as text, with its error where it was measured by itself."""
    text = f"{name} {share * 100:.0f} %"
    return f"{text} ± {max(1, round(error * 100))}" if error else text


def _last(metrics: Metrics) -> str:
    text = last_text(metrics)
    return f"<br>{text}" if text else ""


def _batch(info: ClusterInfo) -> str:
    sentence = advice_text.batch(info.metrics, info.world.size)
    return f" · {sentence}" if sentence else ""


def _network(info: ClusterInfo) -> str:
    """Return the network traffic between nodes; empty for a single node."""
    measured = [(traffic, node.name) for node in info.nodes if (traffic := network_of(node)) is not None]
    if len({node.address for node in info.nodes}) < 2 or not measured:
        return ""
    most, name = max(measured)
    return f"<br>network {most / 1e6:.1f} MB/s ({html.escape(name)}, which has most)"


def _table(info: ClusterInfo) -> str:
    ranks = sorted(info.ranks, key=lambda r: (r.state not in ("stuck", "lost"), r.rank))
    head = "".join(f"<th scope='col' style='text-align:right;padding:0 8px'>{h}</th>" for h in HEADS)
    rows = "".join(_row(rank) for rank in ranks[:MOST_ROWS])
    more = len(ranks) - MOST_ROWS
    rest = f"<p>and {more} more ranks</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def _row(rank: Rank) -> str:
    memory = rank.device_memory_bytes if rank.device_memory_bytes is not None else rank.memory_bytes
    share = least_share(rank.comm_overhead, rank.comm_bound, rank.comm_overhead_error)
    values: tuple[Any, ...] = (
        rank.rank,
        f"{GLYPHS[rank.state]} {word(rank.state)}",
        html.escape(rank.doing or "–"),
        rank.step if rank.step is not None else "–",
        _number(rank.samples_per_s),
        share,
        f"{memory / 2**30:.1f}" if memory is not None else "–",
        f"{rank.cpu_utilization * 100:.0f} %" if rank.cpu_utilization is not None else "–",
    )
    return "<tr>" + "".join(f"<td style='text-align:right;padding:0 8px'>{v}</td>" for v in values) + "</tr>"


def _share(share: float, error: float, bound: str) -> str:
    """The share of communication, as precisely as it is known; worded as in the panel."""
    return least_share(share, bound) if bound and error < VAGUE_SHARE else precise_share(share, error)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _sparkline(values: deque[float]) -> str:
    """Return the last minute as an SVG line in the text colour, which is visible in every theme."""
    if len(values) < 2:
        return ""
    top = max(values) or 1.0
    points = " ".join(f"{i * 120 / (POINTS - 1):.1f},{19 - 18 * v / top:.1f}" for i, v in enumerate(values))
    return (
        "<svg width='120' height='20' role='img' aria-label='throughput, last minute' "
        "style='vertical-align:middle'>"
        f"<polyline fill='none' stroke='currentColor' points='{points}'/></svg>"
    )
