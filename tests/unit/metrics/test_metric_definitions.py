"""A figure is declared once: documentation, export and the last metrics of a loop have what is declared."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

import pytest
from msgspec import Struct

from dtrain_lab.metrics.estimates import world_metrics
from dtrain_lab.metrics.history import COLUMNS, METRICS, point, to_csv
from dtrain_lab.metrics.outdated import of_steps
from dtrain_lab.metrics.over_ranks import with_largest
from dtrain_lab.wire.cluster import Rank
from dtrain_lab.wire.links.samples import RankSample
from dtrain_lab.wire.metrics.definitions import LoopMetrics, declared
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.world import Last, Metrics
from dtrain_lab.wire.node_use import Node

DOCS = Path(__file__).parents[3] / "docs" / "metrics.md"
UNITS = {"_bytes_per_s": "bytes/s", "_per_s": "1/s", "_bytes": "bytes", "_s": "s", "_error": "share"}


def test_every_figure_and_every_column_is_declared() -> None:
    assert list(declared(LoopMetrics)) == list(METRICS)
    assert set(declared(Point)) == set(COLUMNS)
    assert to_csv([]).splitlines() == [",".join(COLUMNS)]


OTHER_TIMES = {"at", "in_operation_s", "beat_s", "last_seen_s"}
"""Times that are no metrics: of a moment, and since one."""


@pytest.mark.parametrize("kind", [RankSample, Rank, Metrics, Point])
def test_what_has_a_unit_in_its_name_is_declared(kind: type[Struct]) -> None:
    ends = (*UNITS, "_utilization", "_share")
    named = {name for name in kind.__struct_fields__ if name.endswith(ends)} - OTHER_TIMES
    of_each_rank = {"own_s"} if kind is Point else set()
    assert named - set(declared(kind)) == of_each_rank


@pytest.mark.parametrize("kind", [RankSample, Rank, Metrics, Point])
def test_a_name_has_the_unit_of_its_figure(kind: type[Struct]) -> None:
    for name, (_, figure) in declared(kind).items():
        end = next((end for end in UNITS if name.endswith(end)), None)
        assert end is None or UNITS[end] == figure.unit, name


def test_the_last_metrics_of_a_loop_have_the_figures_of_a_world() -> None:
    mine, ours = get_type_hints(Last, include_extras=True), get_type_hints(Metrics, include_extras=True)
    assert {name: mine[name] for name in declared(Last)} == {name: ours[name] for name in declared(Last)}
    assert set(declared(Last)) == set(Last.__struct_fields__) & set(declared(Metrics))


def test_what_is_outdated_without_steps_follows_from_the_declarations() -> None:
    assert set(of_steps(Rank)) == {*METRICS, "steps_per_s", "own_s"}
    assert of_steps(Point) == METRICS
    assert set(of_steps(Metrics)) == {*METRICS, "skew_s", "data_error"}


def test_the_documentation_has_the_declared_figures() -> None:
    figures = declared(Point)
    parts = [
        "| Part | Field | What it is |",
        "|---|---|---|",
        *(f"| {f.part} | `{name}` | {meaning} |" for name, (meaning, f) in figures.items() if f.part),
        "| other | | the rest |",
    ]
    columns = [
        "| Column | Unit | Of the cluster | What it is |",
        "|---|---|---|---|",
        *(
            f"| `{name}` | {f.unit} | {f.over_ranks or ''} | {meaning} |"
            for name, (meaning, f) in ((name, figures[name]) for name in COLUMNS)
        ),
    ]
    for table in ("\n".join(parts), "\n".join(columns)):
        assert table in DOCS.read_text(), f"docs/metrics.md lacks this table:\n{table}"


RANKS = [
    RankSample(rank=r, step_s=1.0, samples_per_s=s, tokens_per_s=s, data_s=d, compute_s=d, optimizer_s=d)
    for r, (s, d) in enumerate([(1.0, 0.1), (2.0, 0.2), (6.0, 0.6)])
]
EXPECTED = {"samples_per_s": 9.0, "tokens_per_s": 9.0, "data_s": 0.3, "compute_s": 0.3, "optimizer_s": 0.3}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_world_s_value_comes_from_its_ranks_as_declared(name: str) -> None:
    how = declared(LoopMetrics)[name][1].over_ranks
    assert how == ("sum" if EXPECTED[name] == 9.0 else "mean")
    assert getattr(world_metrics(RANKS, 3, False), name) == pytest.approx(EXPECTED[name])


def test_a_step_is_the_median_rank_s_and_memory_the_largest() -> None:
    steps = [RankSample(rank=r, step_s=s) for r, s in enumerate([1.0, 2.0, 9.0])]
    assert declared(LoopMetrics)["step_s"][1].over_ranks == "median"
    assert world_metrics(steps, 3, False).step_s == 2.0
    ranks = [Rank(r, "a", r, "cpu", 1, "idle", step=r, memory_bytes=10 * r) for r in range(3)]
    nodes = [Node("a", "", "ready", 0.5, 1.0, 2.0), Node("b", "", "ready", 0.5, 3.0, 4.0)]
    made = point(0.0, with_largest(Metrics(), ranks, nodes), (), 0)
    for name, value in {"step": 2, "memory_bytes": 20, "network_bytes_per_s": 7.0}.items():
        assert declared(Point)[name][1].over_ranks == "largest"
        assert getattr(made, name) == value
