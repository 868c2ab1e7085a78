"""The notebooks run as they are, within the time that they promise."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


def text_of(notebook: Any) -> str:
    return "".join(
        output.text
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    asyncio.run(client.async_execute())
    said = text_of(notebook)
    assert "is ready: " in said
    if path.stem == "quickstart":
        assert "[0] rank 0 of 2 on cpu; the sum over all ranks is 2" in said
        accuracies = [
            float(part.split()[0].rstrip(",;")) for part in said.split("accuracy ")[1:] if part[0] == "0"
        ]
        assert min(accuracies) > 0.95
        figures = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs if "data" in o]
        assert any("image/png" in o.data for o in figures)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_saved_without_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not [c for c in notebook.cells if c.cell_type == "code" and (c.outputs or c.execution_count)]
