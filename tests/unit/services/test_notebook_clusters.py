"""What a kernel has recorded of its notebook's cluster, as the server reads it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dtrain_lab.kernel import cluster_choice
from dtrain_lab.services import notebook_clusters
from dtrain_lab.services.notebook_clusters import UsedCluster, of_kernel
from dtrain_lab.wire.site import KernelUse
from tests.fakes.clusters import cluster


def test_a_kernel_uses_its_last_cluster_or_one_that_the_panel_has_started_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    assert of_kernel("k", {"a"}) == KernelUse(), "it has not loaded the magics"
    used = KernelUse("/n.ipynb", "a")
    notebook_clusters.tell("k", used)
    notebook_clusters.remember("/n.ipynb", UsedCluster("a"))
    assert of_kernel("k", ()) == used, "also where it has ended"
    notebook_clusters.remember("/n.ipynb", UsedCluster("b", begun=True))
    assert of_kernel("k", {"b"}) == KernelUse("/n.ipynb", "b")
    assert of_kernel("k", {"c"}) == used, "one that has ended before it was used"
    notebook_clusters.remember("/n.ipynb", UsedCluster("b"))
    notebook_clusters.tell("k", KernelUse("/n.ipynb"))
    assert of_kernel("k", {"b"}).cluster == "b", "the kernel was restarted"
    notebook_clusters.forget("k")
    notebook_clusters.forget("k")
    assert of_kernel("k", {"b"}) == KernelUse()


def test_a_renamed_notebook_has_its_name_of_now_where_other_notebooks_hear_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    life = replace(cluster(), name="life", notebooks=("/w/life.ipynb", "/w/b.ipynb"))
    assert cluster_choice.each([life], None, "/w/b.ipynb") == "life (used by life.ipynb)"
    notebook_clusters.note_path("/w/life.ipynb", "/w/renamed.ipynb")
    assert cluster_choice.each([life], None, "/w/b.ipynb") == "life (used by renamed.ipynb)"
    notebook_clusters.note_path("/w/life.ipynb", "/w/life.ipynb")
    assert notebook_clusters.path_now("/w/life.ipynb") == "/w/life.ipynb", "it was renamed back"


def test_a_renamed_notebook_keeps_its_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its next kernel knows the new path only."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    used = UsedCluster("a", monitor=False, taken=True)
    notebook_clusters.remember("/w/n.ipynb", used)
    notebook_clusters.note_path("/w/n.ipynb", "/w/renamed.ipynb")
    assert notebook_clusters.last("/w/renamed.ipynb") == used
    notebook_clusters.remember("/w/n.ipynb", UsedCluster("b"))
    assert notebook_clusters.last("/w/renamed.ipynb") == UsedCluster("b"), "chosen after it was renamed"
    notebook_clusters.remember("/w/renamed.ipynb", UsedCluster("c"))
    notebook_clusters.note_path("/w/n.ipynb", "/w/renamed.ipynb")
    assert notebook_clusters.last("/w/renamed.ipynb") == UsedCluster("c"), "chosen by its next kernel"
