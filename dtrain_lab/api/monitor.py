"""`cluster.monitor()`: the ranks, live, in any Jupyter front end."""

from __future__ import annotations

import html
from collections import deque
from typing import TYPE_CHECKING, Any

import ipywidgets

from dtrain_lab.core.cluster import Cluster as Info
from dtrain_lab.core.cluster import Metrics, Rank
from dtrain_lab.core.history import network_of

if TYPE_CHECKING:
    from dtrain_lab.api.cluster import Cluster

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


class Monitor(ipywidgets.VBox):  # type: ignore[misc]
    """The sentence, throughput and communication with their history, and a row for each rank.

    Displayed by a notebook as the last value of a cell; `close` ends it. It updates while the cluster lives.

    Args:
        cluster: to watch.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._rates: deque[float] = deque(maxlen=POINTS)
        self._sentence = ipywidgets.HTML()
        self._figures = ipywidgets.HTML()
        self._table = ipywidgets.HTML()
        super().__init__([self._sentence, self._figures, self._table])
        self.show(cluster.cluster())
        cluster.watch(self.show, PERIOD_S)

    def show(self, info: Info) -> None:
        """Draw this state."""
        metrics = info.metrics
        if metrics.samples_per_s is not None:
            self._rates.append(metrics.samples_per_s)
        self._sentence.value = (
            f"<b>{html.escape(info.name)}</b>: <span role='status'>{html.escape(info.summary.text)}</span>"
        )
        share = "–"
        if metrics.comm_overhead is not None:
            error = f" ± {metrics.comm_overhead_error * 100:.0f}" if metrics.comm_overhead_error else ""
            share = f"{metrics.comm_overhead * 100:.0f} %{error}"
        self._figures.value = (
            f"{_number(metrics.samples_per_s)} samples/s {_sparkline(self._rates)} · communication {share}"
            f"{_parts(metrics)}{_network(info)}"
        )
        self._table.value = _table(info)

    def close(self) -> None:
        """Stop watching and take the view away."""
        self._cluster.unwatch(self.show)
        super().close()


def _parts(metrics: Metrics) -> str:
    """Where a step's time goes."""
    if not metrics.step_s or metrics.compute_s is None:
        return ""
    parts = {
        "data": metrics.data_s,
        "forward, backward": metrics.compute_s,
        "transfer": metrics.transfer_s,
        "waiting": metrics.wait_s,
        "optimizer": metrics.optimizer_s,
    }
    shares = [f"{n} {s / metrics.step_s * 100:.0f} %" for n, s in parts.items() if s is not None]
    return f"<br>step {metrics.step_s * 1e3:.1f} ms: {' · '.join(shares)}"


def _network(info: Info) -> str:
    """What the nodes tell each other, where there are several."""
    known = [(traffic, node.name) for node in info.nodes if (traffic := network_of(node)) is not None]
    if len({node.address for node in info.nodes}) < 2 or not known:
        return ""
    most, name = max(known)
    return f"<br>network {most / 1e6:.1f} MB/s ({html.escape(name)}, which has most)"


def _table(info: Info) -> str:
    ranks = sorted(info.ranks, key=lambda r: (r.state not in ("stuck", "lost"), r.rank))
    head = "".join(f"<th scope='col' style='text-align:right;padding:0 8px'>{h}</th>" for h in HEADS)
    rows = "".join(_row(rank) for rank in ranks[:MOST_ROWS])
    more = len(ranks) - MOST_ROWS
    rest = f"<p>and {more} more ranks</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def _row(rank: Rank) -> str:
    memory = rank.device_memory_bytes if rank.device_memory_bytes is not None else rank.memory_bytes
    share = f"{rank.comm_overhead * 100:.0f} %" if rank.comm_overhead is not None else "–"
    values: tuple[Any, ...] = (
        rank.rank,
        f"{GLYPHS[rank.state]} {rank.state}",
        html.escape(rank.doing or "–"),
        rank.step if rank.step is not None else "–",
        _number(rank.samples_per_s),
        share,
        f"{memory / 2**30:.1f}" if memory is not None else "–",
        f"{rank.cpu_utilization * 100:.0f} %" if rank.cpu_utilization is not None else "–",
    )
    return "<tr>" + "".join(f"<td style='text-align:right;padding:0 8px'>{v}</td>" for v in values) + "</tr>"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _sparkline(values: deque[float]) -> str:
    """The last minute as a line, in the colour of the text, so that it is seen in every theme."""
    if len(values) < 2:
        return ""
    top = max(values) or 1.0
    points = " ".join(f"{i * 120 / (POINTS - 1):.1f},{19 - 18 * v / top:.1f}" for i, v in enumerate(values))
    return (
        "<svg width='120' height='20' role='img' aria-label='throughput, last minute' "
        "style='vertical-align:middle'>"
        f"<polyline fill='none' stroke='currentColor' points='{points}'/></svg>"
    )
