"""The notebooks run as they are, within the time that they promise."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from dtrain_lab.training import checkpoint
from tests.integration.notebooks.tuning import MEASURED, check_tuning

ROOT = Path(__file__).parents[3]
SHORT = {
    "quickstart": {"epochs = 80": "epochs = 9"},
    "submit": {'"ranks_per_node": 2': '"ranks_per_node": 1'},
    "sweep": {"trials=4": "trials=2"},
    "tuning": {"loader, 5)": "loader, 3)"},
}
"""What is less here than for a reader, who looks at the panel meanwhile."""
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WAYS = sorted((ROOT / "notebooks" / "ways").glob("*.ipynb"))
pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


def shorten(notebook: Any, values: dict[str, str]) -> None:
    """Replace what stands in its cells."""
    for old, new in values.items():
        cells = [c for c in notebook.cells if c.cell_type == "code" and old in c.source]
        assert cells, f"{old} does not stand in the notebook any more"
        for cell in cells:
            cell.source = cell.source.replace(old, new)


def text_of(notebook: Any) -> str:
    return "".join(
        output.text
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream"
    )


def check_output(notebook: Any, said: str) -> None:
    """Nothing that ranks show is missing from the saved notebook."""
    wanted = [
        "] the same on all ranks",  # one line where both came within 10 ms, else two
        "half a line, and its end",
        "a warning",
        "from a child process",
        "from C\n",
        "WARNING:root:from a logger",
        "UserWarning: from warnings",
        "1] from a worker",  # [1], or [0-1] where both came at once
        "[1] {'value of rank': 1}",
        "text: 100%",
        "] before",
    ]
    assert [text for text in wanted if text not in said] == []
    for number in range(2):
        assert f"still here: {number}" in said
    outputs = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    shown = [o.data for o in outputs if "data" in o]
    html = [d["text/html"] for d in shown if "text/html" in d]
    for number in range(2):
        assert f"<b>HTML of rank {number}</b>" in html
        assert f"<i>updated by rank {number}</i>" in html
        assert f"rank {number}, step 2" in html
        assert any(d.get("text/markdown") == f"*Markdown* of rank {number}" for d in shown)
    assert "to be replaced" not in html
    assert not any("step 0" in h for h in html)
    assert any("<td>1</td>" in h for h in html)
    assert sum("image/png" in d for d in shown) == 2
    # two bars in widget form, and the slider
    assert sum("application/vnd.jupyter.widget-view+json" in d for d in shown) == 3
    errors = [o for o in outputs if o.output_type == "error"]
    assert [e.evalue for e in errors] == ["Rank 1 failed: ValueError: only rank 1."]
    assert any("line 4" in line for line in errors[0].traceback)


def check_submit(said: str) -> None:
    """Tried on two ranks, submitted to two nodes, cancelled, resumed from its checkpoint."""
    assert "problem:" not in said
    cancelled = re.search(r"cancelled with a checkpoint of epoch (\d)", said)
    assert cancelled is not None
    assert f"[0] goes on from epoch {cancelled[1]}" in said
    assert "Done after" in said
    last = re.findall(r"\[0\] epoch 5: loss [\d.]+, accuracy ([\d.]+)", said)
    assert float(last[-1]) > 0.5, "it learns"


def check_debugging(said: str) -> None:
    """The buffers that nobody averages are found by diff and by a breakpoint, and mended."""
    assert "model: 1.running_mean is the first of 2 of " in said
    assert "Paused on 2 ranks." in said
    assert re.search(r"parameter\.grad: .*-?\d\.\d+.* on all ranks", said), "a small tensor shows its values"
    assert "model[1].running_mean: 2 different values" in said
    assert "model[0].weight: float32[16, 8] on all ranks" in said
    assert "model is the same on ranks 0–1" in said


def check_inference(said: str, errors: list[str]) -> None:
    """The result is that of one process, each image counts once, and a killed rank costs little."""
    assert "[0-1] 359 rows for 359 images; the model trains on: True" in said
    assert "the same as on one process: True" in said
    accuracy, wrong = re.findall(r"accuracy ([\d.]+): (\d+) of 359 images are wrong", said)[0]
    assert float(accuracy) > 0.85
    assert int(wrong) == round(359 * (1 - float(accuracy)))
    assert [e.split(":")[0] for e in errors] == ["Rank 1 was lost"]
    there = re.findall(r"dt.predict resumes digits.parquet: (\d+) of 359 samples are already written", said)
    assert int(there[0]) >= 80
    assert "359 rows; the first digits: [" in said


def check_sweep(said: str) -> None:
    """Each trial runs once, and the best is a job with a log and checkpoints."""
    assert "2 of 2 trials done; best loss " in said
    best, listed = re.search(r"in trial (\d)\.", said), re.findall(r"trial (\d): succeeded, lr ", said)
    assert best is not None
    assert listed[0] == best[1]
    assert sorted(listed) == ["0", "1"]
    assert "the last checkpoint is of epoch 6" in said


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # of its jobs
    shutil.copy(path, tmp_path)
    notebook = nbformat.read(path, as_version=4)
    if path.stem == "sweep":
        monkeypatch.setenv("DTRAIN_LAB_WARM", "0")  # it has no cluster, for which torch would be loaded
    if path.stem in SHORT:
        shorten(notebook, SHORT[path.stem])
    if path.stem == "tuning":
        notebook.cells.append(nbformat.v4.new_code_cell(MEASURED))
    # a kernel that has run something before, in a folder where another notebook has saved its checkpoints
    notebook.cells.insert(0, nbformat.v4.new_code_cell("before = 1"))
    stale = tmp_path / "checkpoints" / "step-6"
    stale.mkdir(parents=True)
    (stale / checkpoint.MARKER).touch()
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    asyncio.run(client.async_execute())
    said = text_of(notebook)
    if path.stem == "sweep":
        check_sweep(said)
        assert not stale.parent.exists(), "what was tried leaves nothing for the next notebook"
    else:
        assert "is ready: " in said
    if path.stem == "quickstart":
        assert "[0] rank 0 of 2 on cpu; the sum over all ranks is 2" in said
        accuracies = [
            float(part.split()[0].rstrip(",;")) for part in said.split("accuracy ")[1:] if part[0] == "0"
        ]
        assert min(accuracies) > 0.95
        figures = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs if "data" in o]
        assert any("image/png" in o.data for o in figures)
        assert re.search(r"the losses differ by 0\.\d+ at most", said)
    if path.stem == "submit":
        check_submit(said)
    if path.stem == "output":
        check_output(notebook, said)
    if path.stem == "debugging":
        check_debugging(said)
    if path.stem == "inference":
        outputs = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
        check_inference(said, [o.evalue for o in outputs if o.output_type == "error"])
    if path.stem == "tuning":
        check_tuning(said)


def same_as_one_process(said: str, how: str) -> None:
    """The loss after three steps is that of one process."""
    losses = re.findall(r"(one process|one device|" + how + r"[^:\n]*): loss ([\d.]+)", said)
    assert len(losses) >= 2, said
    values = [float(loss) for _, loss in losses]
    assert max(values) - min(values) < 1e-4, losses


def check_way(name: str, said: str) -> None:
    """Each way computes what one process computes, where it is to."""
    match name:
        case "fsdp":
            assert "42501 of 85002 parameters are on this rank" in said
            same_as_one_process(said, "in shards")
        case "pipeline":
            assert "82432 parameters are on this rank" in said
            same_as_one_process(said, "in stages")
        case "model_parallel":
            assert "the first weight here: (128, 64) of (256, 64)" in said
            same_as_one_process(said, "in parts")
        case "data_parallel":
            same_as_one_process(said, "DDP|DataParallel")
            assert len(re.findall(r": loss ", said)) == 3
        case "parameter_server":
            assert "200 updates" in said
            [accuracy] = re.findall(r"accuracy ([\d.]+)", said)
            assert float(accuracy) > 0.7
            assert len(re.findall(r"updates behind", said)) == 2


@pytest.mark.parametrize("path", WAYS, ids=lambda p: p.stem)
def test_a_way_to_train_runs_and_computes_the_same(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(path.parent)}})
    asyncio.run(client.async_execute())
    check_way(path.stem, text_of(notebook))


@pytest.mark.parametrize("path", [*NOTEBOOKS, *WAYS], ids=lambda p: p.stem)
def test_a_notebook_is_saved_without_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not [c for c in notebook.cells if c.cell_type == "code" and (c.outputs or c.execution_count)]


@pytest.mark.parametrize("path", [*NOTEBOOKS, *WAYS], ids=lambda p: p.stem)
def test_a_notebook_leads_on(path: Path) -> None:
    """Its last words are where to go; every link leads to a file, and to a heading of it."""
    notebook = nbformat.read(path, as_version=4)
    words = [c.source for c in notebook.cells if c.cell_type == "markdown"]
    assert notebook.cells[-1].cell_type == "markdown"
    assert words[-1].splitlines()[-1].startswith("**Next:** [")
    links = [link for text in words for link in re.findall(r"\]\(([^)]+)\)", text)]
    for link in links:
        name, _, heading = link.partition("#")
        target = (path.parent / name).resolve()
        assert target.is_relative_to(ROOT), link
        assert target.is_file(), link
        if heading:
            titles = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [title.lower().replace(" ", "-") for title in titles], link


def words_of(name: str) -> tuple[str, str]:
    """A notebook's prose, and its code."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    kinds = {"markdown": "", "code": ""}
    for cell in notebook.cells:
        kinds[cell.cell_type] += cell.source + "\n"
    return kinds["markdown"], kinds["code"]


@pytest.mark.parametrize("name", ["quickstart", "tuning", "debugging", "inference"])
def test_a_notebook_that_says_try_it_leaves_its_cluster_running(name: str) -> None:
    prose, code = words_of(name)
    assert "%distributed stop" not in code
    assert "The cluster is still running" in prose
    assert "`%distributed stop`" in prose, "how to end it"


def test_the_quickstart_trains_long_enough_to_look_and_says_where() -> None:
    prose, code = words_of("quickstart")
    epochs = re.search(r"^epochs = (\d+)$", code, re.MULTILINE)
    assert epochs is not None
    assert int(epochs[1]) >= 60
    assert "`Alt Shift D`" in prose.split("## The same on one process")[0]


def test_what_the_debugging_notebook_says_to_do_can_be_done() -> None:
    """Lockstep is pictured, and the condition has names that are known where it is asked."""
    prose, code = words_of("debugging")
    assert "](../docs/pictures/debugger.png)" in prose
    condition = re.search(r"\*Add a condition\* and enter `([^`]+)`", prose)
    assert condition is not None
    step = code.split("def train_step(", 1)[1].split("\ndef ", 1)[0]
    names = set(re.findall(r"[A-Za-z_]+", condition[1])) - {"rank", "and", "or", "not"}
    assert all(name in step for name in names)
