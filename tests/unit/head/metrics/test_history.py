from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from dtrain_lab.errors import BadRequest
from dtrain_lab.head.metrics import history
from dtrain_lab.metrics.history import point, scalars, to_csv
from dtrain_lab.metrics.over_ranks import with_largest
from dtrain_lab.services.metrics_export import export, write
from dtrain_lab.wire.cluster import Cluster, Lost, Rank
from dtrain_lab.wire.codec.encode import as_json
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.node_use import Node
from tests.ui.states.worlds import training

NODES = (
    Node("a", "10.0.0.1", "ready", 0.5, 10.0, 20.0),
    Node("b", "10.0.0.2", "ready", 0.5, 40.0, 10.0),
    Node("c", "10.0.0.3", "ready"),
)
POINTS = [
    Point(at=100.0, step=10, samples_per_s=5.0, values={"step": 10, "loss": 0.5}),
    Point(at=101.0, step=20, comm_overhead=0.25, values={"step": 10, "loss": 0.5}),
    Point(at=102.0, step=30, values={"step": 30, "loss": 0.25, "accuracy": 0.9}),
]


def test_a_point_keeps_the_figures_of_its_moment() -> None:
    metrics = with_largest(Metrics(samples_per_s=3.0, wait_s=0.1, values={"loss": 1.0}), (), NODES)
    made = point(5.0, metrics, (1,), 2)
    assert (made.at, made.samples_per_s, made.wait_s, made.generation) == (5.0, 3.0, 0.1, 2)
    assert (made.values, made.slow) == ({"loss": 1.0}, (1,))
    assert made.network_bytes_per_s == 50.0, "of the busiest node"
    assert with_largest(Metrics(), (), NODES[2:]).network_bytes_per_s is None


def test_a_table_has_the_users_own_values_in_columns_of_their_own() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(POINTS))))
    assert [row["values.loss"] for row in rows] == ["0.5", "0.5", "0.25"]
    assert [row["values.accuracy"] for row in rows] == ["", "", "0.9"]
    assert rows[1]["comm_overhead"] == "0.25"


def test_a_value_is_a_scalar_once_at_its_own_step() -> None:
    assert [s[:3] for s in scalars(POINTS) if s[0] == "loss"] == [("loss", 0.5, 10), ("loss", 0.25, 30)]
    assert ("dtrain/comm_overhead", 0.25, 20, 101.0) in scalars(POINTS)


def test_files_are_read_by_what_they_are_for(tmp_path: Path) -> None:
    from tensorboardX.proto.event_pb2 import Event

    assert json.loads(write(POINTS, tmp_path / "a.json").read_text())[2]["values"]["accuracy"] == 0.9
    assert write(POINTS, tmp_path / "deep" / "a.csv").read_text().startswith("at,step,samples_per_s")
    events = write(POINTS, tmp_path / "board")
    assert events.name.startswith("events.out.tfevents.")
    found = {}
    data = events.read_bytes()
    while data:  # length (8), its checksum (4), record, its checksum (4)
        size = int.from_bytes(data[:8], "little")
        event = Event.FromString(data[12 : 12 + size])
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
        data = data[16 + size :]
    assert found["loss"] == [(10, 0.5), (30, 0.25)]
    with pytest.raises(BadRequest, match="names no known format"):
        write(POINTS, tmp_path / "a.xls")
    with pytest.raises(BadRequest, match='no format "pdf"'):
        export(POINTS, "pdf")


def test_a_head_keeps_the_own_times_of_ranks_for_the_last_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_OWN", 4)
    ranks = (
        Rank(0, "a", 0, "cpu", 1, "busy", step_s=0.5, comm_overhead=0.25, own_s=0.375),
        Rank(1, "a", 1, "cpu", 2, "busy"),
    )
    cluster = training("c", ranks, metrics=Metrics(step_s=0.5, current=True))
    kept: list[Point] = []
    found = history.History(1.0, kept.append)
    for at in (10.0, 11.0, 12.0):
        found.add(at, cluster)
    assert [p.own_s for p in found.since(0)] == [(), (0.375, None), (0.375, None)]
    assert [p.own_s for p in kept] == [(), (), ()], "the history of a job is a line of text a point"


def test_the_last_values_of_a_cell_are_kept_whenever_it_ends() -> None:
    """As found: of 40 steps in 0.8 s the fourth was kept, and nothing of a later cell."""

    ranks = (Rank(0, "a", 0, "cpu", 1, "busy"),)

    def world(step: int) -> Cluster:
        return training("c", ranks, metrics=Metrics(values={"step": step, "loss": 1.0}, current=False))

    kept: list[Point] = []
    found = history.History(1.0, kept.append)
    first, last, late = world(4), world(39), world(139)
    assert found.due(10.0, first.metrics.values, trains=True, ended=False)
    found.add(10.0, first)
    assert not found.due(10.8, last.metrics.values, trains=True, ended=False), "a second has not passed"
    assert found.due(10.8, last.metrics.values, trains=False, ended=True)
    found.add(10.8, last)
    assert not found.due(12.0, last.metrics.values, trains=False, ended=False), "nothing is new"
    assert not found.due(12.0, last.metrics.values, trains=False, ended=True)
    # averages come in after the cell's end
    assert found.due(12.0, late.metrics.values, trains=False, ended=False)
    found.add(12.0, late)
    assert [p.values["step"] for p in kept] == [4, 39, 139]


def test_each_value_of_a_run_that_logs_seldom_has_its_point_from_the_first_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As found: of three values of a job, four seconds apart, the first was in no point, nor in its chart."""
    ranks = (Rank(0, "a", 0, "cpu", 1, "busy"),)

    def world(values: dict[str, object]) -> Cluster:
        return training("c", ranks, metrics=Metrics(step_s=0.5, values=values, current=True))

    def look(at: float, values: dict[str, object]) -> None:
        if found.due(at, values, trains=True, ended=False):
            found.add(at, world(values))

    kept: list[Point] = []
    found = history.History(5.0, kept.append)
    for at, step in ((9.0, None), (11.0, 0), (15.0, 1), (15.5, 2), (18.0, 3), (19.0, 3)):
        look(at, {} if step is None else {"step": step, "loss": 2.0})
    assert [p.values.get("step") for p in kept] == [None, 0, 1, 3], "not more than one a second"
    monkeypatch.setattr(history, "FEW", len(kept))
    look(20.0, {"step": 4, "loss": 2.0})
    assert len(kept) == 4, "a long history keeps its period"
    look(23.0, {"step": 5, "loss": 2.0})
    assert len(kept) == 5


def test_a_point_as_json_has_every_field_where_a_figure_is_not_known_too() -> None:
    assert set(as_json(Point(at=1.0))) == set(Point.__struct_fields__)


def test_a_reload_finds_memory_between_trainings_and_each_rebuilding_at_its_own_time() -> None:
    """As found: after F5 memory was specks, and three interrupts were one mark at the next training."""
    kept: list[Point] = []
    found = history.History(1.0, kept.append, idle_s=5.0)

    def look(at: float, generation: int, *, trains: bool = False) -> None:
        rank = Rank(0, "a", 0, "cpu", 1, "idle", step_s=0.5, own_s=0.5, memory_bytes=7, slow=trains)
        metrics = with_largest(Metrics(step_s=0.5, current=trains), (rank,), ())
        world = training("c", (rank,), metrics=metrics)
        world = replace(world, world=replace(world.world, generation=generation))
        if found.due(at, {}, trains=trains, ended=False):
            found.add(at, world)
        if found.rests(at, generation, ()):
            found.rest(at, world, ())

    for at, generation in ((10.0, 0), (11.0, 0), (13.0, 1), (14.0, 1), (18.0, 1)):
        look(at, generation)
    look(19.0, 1, trains=True)
    points = found.since(0, idle=True)
    assert [(p.at, p.generation) for p in points] == [(10.0, 0), (13.0, 1), (18.0, 1), (19.0, 1)]
    assert {p.memory_bytes for p in points} == {7}
    assert [p.step_s for p in points] == [None, None, None, 0.5], "no figures of steps that have ended"
    assert [p.own_s for p in points] == [(), (), (), (0.5,)]
    assert [p.slow for p in points] == [(), (), (), (0,)]
    assert [p.at for p in found.since(0)] == [p.at for p in kept] == [19.0], "exports have only training"


def test_a_reload_finds_when_a_rank_was_lost() -> None:
    found = history.History(1.0, lambda _: None, idle_s=5.0)
    ranks = (Rank(0, "a", 0, "cpu", 1, "idle"), Rank(1, "a", 1, "cpu", 1, "idle"))
    world = training("c", ranks, metrics=Metrics())
    for at, lost in ((10.0, ()), (11.0, (1,)), (12.0, (1,)), (13.0, ())):
        if found.rests(at, 0, lost):
            assert found.rests(at, 0, lost), "to ask changes nothing"
            now = replace(world, lost=tuple(Lost(rank, "was killed", at) for rank in lost))
            found.rest(at, now, lost)
    assert [(p.at, p.lost) for p in found.since(0, idle=True)] == [(10.0, ()), (11.0, (1,)), (13.0, ())]
