"""Headline, advice and metrics of a loop say the same, also where the machine is too unsteady to tell."""

from __future__ import annotations

import pytest

from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.links import RankSample
from dtrain_lab.wire.metrics.diagnosis import Check, Diagnosis, Tried
from dtrain_lab.wire.node_use import HostUse
from tests.unit.head.metrics.worlds import TICK_S, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def waits(world: World, error_s: float, seconds: float) -> Cluster:
    """Both ranks wait for data for 60 of 100 ms; `error_s` is that of half of the error of communication."""
    seen = world.look()
    for _ in range(int(seconds / TICK_S)):
        world.now += TICK_S
        world.steps += 5
        samples = [
            RankSample(
                rank=r, step=world.steps, step_s=0.1, samples_per_s=320.0, exposed_s=0.004,
                exposed_error_s=error_s, synced=True, batch=32, data_s=0.06, compute_s=0.03,
                optimizer_s=0.001, loader_workers=0,
            )
            for r in (0, 1)
        ]  # fmt: skip
        world.collector.sampled(samples, 0, HostUse(2, 0.5, runnable=1.0))
        seen = world.look()
    return seen


def test_the_headline_states_no_share_that_is_too_unsteady_to_tell(world: World) -> None:
    assert waits(world, 0.001, 10).summary.text == "Training waits for data: 60 % of a step."
    seen = waits(world, 0.002, 1)
    assert seen.metrics.comm_overhead_error == pytest.approx(0.04)
    assert seen.summary.text == "Training waits for data: 60 % of a step."
    seen = waits(world, 0.02, 1)
    assert (seen.metrics.comm_overhead_error or 0) >= 0.3
    assert seen.summary.text == "Training waits for data."
    verdict = seen.metrics.verdicts[0]
    assert "share" not in verdict.values
    assert " ms" not in verdict.hint
    assert waits(world, 0.001, 1).summary.text == "Training waits for data.", "it does not flicker"
    assert waits(world, 0.001, 10).summary.text == "Training waits for data: 60 % of a step."


def test_an_unsteady_diagnosis_leaves_the_advice_that_was_tried(world: World) -> None:
    """As found: its card, dismissed by the user, was gone with its *Show*."""
    advised = waits(world, 0.001, 20).metrics.advice
    assert "workers" in [a.id for a in advised]
    world.ends()
    world.look()
    trial = Tried("workers", 1.98, 0.19, 1.6, 0.2, 40, "")
    world.collector.tried(trial, 2)
    steady = Check(0.1, 0.02, 0.1, 0.09, "")
    unsteady = Check(0.44, 0.44, 0.1, 0.06, "")
    world.collector.diagnosed(Diagnosis("", "replayed", steady, unsteady), 2)
    for _ in range(3):
        kept = world.look().metrics.advice
        assert [(a.id, a.tried) for a in kept if a.tried] == [("workers", trial)]
    fed = Check(0.01, 0.01, 0.1, 0.099, "")
    world.collector.diagnosed(Diagnosis("", "replayed", steady, fed), 2)
    assert "workers" not in [a.id for a in world.look().metrics.advice], "what was measured well counts"


def test_what_the_ranks_cannot_try_is_not_offered_before_another_cell(world: World) -> None:
    """As found by hand: *Try it* of a loader that no longer existed, which could only fail."""

    def offers() -> list[bool]:
        return [a.tryable for a in world.look().metrics.advice if a.id == "workers"]

    waits(world, 0.001, 20)
    world.ends()
    assert offers() == [True]
    world.collector.cannot_try("workers")
    assert offers() == [False]
    world.collector.cell_began((0, 1), "")
    assert offers() == [False], "it was a diagnosis"
    world.collector.cell_began((0, 1), "loader = DataLoader(data)")
    assert offers() == [True]
    told = Check(0.02, 0.01, 0.1, 0.098, ""), Check(0.6, 0.01, 0.1, 0.04, "", in_loop=True)
    world.collector.diagnosed(Diagnosis("", "replayed", *told, ()), 2)
    assert offers() == [False]
