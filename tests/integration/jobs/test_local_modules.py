"""Jobs whose notebook has torch in a file beside it only: ranks have their group as in a cluster."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

import dtrain_lab as dt
from tests.books import write

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
MODEL = """from .averages import mean
def trained(rank):
    return mean(rank + 1.0)
"""
AVERAGES = """import torch
import torch.distributed as dist
def mean(value):
    made = torch.tensor(value)
    dist.all_reduce(made)
    return made.item() / dist.get_world_size()
"""


@pytest.mark.parametrize("cell", ["from project import trained", "import project\ntrained = project.trained"])
def test_what_a_file_beside_the_notebook_does_with_torch_works_on_two_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "__init__.py").write_text(MODEL)
    (project / "averages.py").write_text(AVERAGES)
    book = write(
        tmp_path / "train.ipynb",
        [cell, "mean = trained(rank)", "print('mean', mean, globals()['de' 'vice'])"],
    )
    with tempfile.TemporaryDirectory(prefix="dtl") as runtime:
        monkeypatch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
        job = dt.submit(book, nodes=1, ranks_per_node=2)
        try:
            assert job.wait(120) == "succeeded", job.logs()
            logs = job.logs()
            text = logs if isinstance(logs, str) else str(logs)
            assert text.count("mean 1.5 cpu") == 2, text
        finally:
            job.cancel()
            job.wait(60)


TRAIN = """import torch
import torch.distributed as dist
def begin():
    dist.init_process_group("gloo")
def total(value):
    made = torch.tensor(value)
    dist.all_reduce(made)
    return made.item()
if __name__ == "__main__":
    begin()
"""


@pytest.mark.parametrize("cells", [["from train import total"], ["import torch, train", "train.begin()"]])
def test_a_training_file_makes_the_group_only_where_the_cells_have_it_do_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(TRAIN)
    book = write(project / "book.ipynb", [*cells, "import train\nprint('total', train.total(rank + 1.0))"])
    with tempfile.TemporaryDirectory(prefix="dtl") as runtime:
        monkeypatch.setenv("DTRAIN_LAB_RUNTIME_DIR", runtime)
        job = dt.submit(book, nodes=1, ranks_per_node=2)
        try:
            assert job.wait(120) == "succeeded", job.logs()
            assert str(job.logs()).count("total 3.0") == 2
        finally:
            job.cancel()
            job.wait(60)
