from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.kernel import which
from dtrain_lab.wire.cluster import Cluster
from tests.unit.metrics.test_advice import cluster

LAST = which.Ended("local-2", "was stopped at 9:27")


def named(name: str, *notebooks: str) -> Cluster:
    return replace(cluster(), name=name, notebooks=notebooks)


def test_the_hint_repeats_the_whole_command() -> None:
    error = which.not_own(
        "restart", "restart 1 --from 0", None, [named("nb", "a.ipynb", "b.ipynb")], "c.ipynb"
    )
    assert error.message == "This notebook has no cluster. Running: nb (used by a.ipynb and b.ipynb)."
    assert error.hint == (
        "To restart nb: %distributed attach nb, then %distributed restart 1 --from 0; "
        "or start one: %distributed start"
    )


def test_a_cluster_that_has_the_name_of_the_ended_one_is_called_another() -> None:
    running = [named("local"), named("local-2", "cnn.ipynb")]
    assert which.not_own("resize", "resize 3", LAST, running, "b.ipynb").message == (
        "This notebook has no cluster: its earlier local-2 was stopped at 9:27. "
        "Running: local, another local-2 (used by cnn.ipynb)."
    )
    assert which.ended(LAST, ["local", "local-2"]).message == (
        "The earlier local-2, which this notebook used, was stopped at 9:27. Running: local, another local-2."
    )
    assert which.stands_in(LAST, "local") == (
        "local-2, which this notebook used, was stopped at 9:27. This is about local:"
    )


def test_notebooks_that_share_a_cluster_are_named_as_in_a_sentence() -> None:
    assert which.taken(named("nb", "a.ipynb", "b.ipynb"), "c.ipynb").startswith(
        "Runs on nb, which a.ipynb and b.ipynb use, too: they share its variables."
    )
    assert "which a.ipynb uses, too:" in which.taken(named("nb", "a.ipynb", "c.ipynb"), "c.ipynb")
