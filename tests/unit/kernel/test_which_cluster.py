from __future__ import annotations

from msgspec.structs import replace

from dtrain_lab.kernel import cluster_choice
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.stacks import Where
from tests.fakes.clusters import cluster

LAST = cluster_choice.Ended("local-2", "was stopped at 9:27")


def named(name: str, *notebooks: str) -> Cluster:
    return replace(cluster(), name=name, notebooks=notebooks)


def test_the_hint_repeats_the_whole_command() -> None:
    error = cluster_choice.not_own(
        "restart", "restart 1 --from 0", None, [named("nb", "a.ipynb", "b.ipynb")], "c.ipynb"
    )
    assert error.message == "This notebook has no cluster. Running: nb (used by a.ipynb and b.ipynb)."
    assert error.hint == (
        "To restart nb: %distributed attach nb, then %distributed restart 1 --from 0; "
        "or start one: %distributed start"
    )


def test_a_cluster_that_has_the_name_of_the_ended_one_is_called_another() -> None:
    running = [named("local"), named("local-2", "cnn.ipynb")]
    assert cluster_choice.not_own("resize", "resize 3", LAST, running, "b.ipynb").message == (
        "This notebook has no cluster: its earlier local-2 was stopped at 9:27. "
        "Running: local, another local-2 (used by cnn.ipynb)."
    )
    assert cluster_choice.ended(LAST, ["local", "local-2"]).message == (
        "The earlier local-2, which this notebook used, was stopped at 9:27. Running: local, another local-2."
    )
    assert cluster_choice.other_cluster_notice(LAST, "local") == (
        "local-2, which this notebook used, was stopped at 9:27. This is about local:"
    )


def test_notebooks_that_share_a_cluster_are_named_as_in_a_sentence() -> None:
    assert cluster_choice.taken(named("nb", "a.ipynb", "b.ipynb"), "c.ipynb").startswith(
        "Runs on nb, which a.ipynb and b.ipynb use, too: they share its variables."
    )
    assert "which a.ipynb uses, too:" in cluster_choice.taken(named("nb", "a.ipynb", "c.ipynb"), "c.ipynb")


def test_a_start_in_a_notebook_that_shared_a_cluster_says_that_it_uses_another_one_now() -> None:
    said = [
        cluster_choice.switched("local-2-2", named("local-2", *users), "c.ipynb")
        for users in (("d/runs.ipynb", "c.ipynb"), ("a.ipynb", "b.ipynb", "c.ipynb"), ("c.ipynb",))
    ]
    assert said == [
        "This notebook now uses local-2-2; it used local-2 of runs.ipynb.",
        "This notebook now uses local-2-2; it used local-2 of a.ipynb and b.ipynb.",
        "This notebook now uses local-2-2; it used local-2, which still runs.",
    ]


def test_a_notebook_is_told_of_all_clusters_and_who_uses_them() -> None:
    def choice(running: list[Cluster], *, uses: bool = True) -> list[str]:
        return cluster_choice.choice(running, "c.ipynb", lambda _: uses).splitlines()

    assert choice([]) == ["No cluster is running. Start one: %distributed start"]
    running = [named("nb", "d/a.ipynb", "c.ipynb"), named("free")]
    assert choice(running) == [
        "nb: 2 ranks, used by this notebook and a.ipynb",
        "free: 2 ranks, used by no notebook",
        "Use it in this notebook: %distributed attach free",
    ]
    assert choice(running[:1]) == ["nb: 2 ranks, used by this notebook and a.ipynb"]
    # its kernel is still attached to them, but its cells run on another one, or on none once that has ended
    assert choice([running[0], named("old", "c.ipynb")], uses=False) == [
        "nb: 2 ranks, used by a.ipynb, and earlier by this notebook",
        "old: 2 ranks, used earlier by this notebook",
        "Use it in this notebook: %distributed attach nb",
    ]
    left = replace(named("left", "d/a.ipynb"), former_notebooks=("b.ipynb", "c.ipynb"))
    assert choice([left])[0] == "left: 2 ranks, used by a.ipynb, and earlier by this notebook and b.ipynb"


def test_who_stops_a_cluster_is_told_which_other_notebooks_have_used_it() -> None:
    assert cluster_choice.stopped("nb", None, "c.ipynb") == "nb is stopped."
    assert cluster_choice.stopped("nb", named("nb", "c.ipynb"), "c.ipynb") == "nb is stopped."
    assert cluster_choice.stopped("nb", named("nb", "d/a.ipynb", "b.ipynb", "c.ipynb"), "c.ipynb") == (
        "nb is stopped. It was also used by a.ipynb and b.ipynb, whose variables there are gone, too."
    )
    left = replace(named("nb", "c.ipynb"), former_notebooks=("d/a.ipynb", "c.ipynb"))
    assert cluster_choice.stopped("nb", left, "c.ipynb") == (
        "nb is stopped. It was also used by a.ipynb, whose variables there are gone, too."
    )


def test_advice_on_another_notebooks_loop_says_whose_it_is() -> None:
    of = replace(cluster(loop=Where("d/a.ipynb", "[3]")), name="nb")
    assert cluster_choice.about(of, "d/a.ipynb") == cluster_choice.about(named("nb"), "d/a.ipynb") == []
    assert cluster_choice.about(of, "b.ipynb") == [
        "nb trains in cell [3] of a.ipynb; this is about that loop:"
    ]
    of = replace(of, metrics=replace(of.metrics, current=False))
    assert cluster_choice.about(of, "b.ipynb") == [
        "nb trained last in cell [3] of a.ipynb; this is about that loop:"
    ]


def test_who_has_to_choose_a_cluster_is_told_whose_they_are() -> None:
    told = [
        cluster_choice.each([one], None, "b.ipynb") for one in (named("mine", "a.ipynb"), named("local-2"))
    ]
    error = cluster_choice.several(told, "mine")
    assert error.message == "Several clusters are running: mine (used by a.ipynb), local-2."
    assert error.hint == "Choose one: %distributed attach mine"
