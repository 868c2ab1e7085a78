"""The executed notebook of a job, without ranks."""

from __future__ import annotations

import json
from pathlib import Path

from dtrain_lab.rank.output.executed_notebook import ExecutedNotebook
from tests.books import write


def test_a_cell_that_is_left_out_has_no_number_and_none_a_run_of_a_cluster(tmp_path: Path) -> None:
    cells = ["%load_ext dtrain_lab", "pass", "# nothing", "%load_ext x\nn = 1"]
    book = write(tmp_path / "a.ipynb", cells)
    ran = json.loads(book.read_text())
    ran["cells"][1]["metadata"] = {"dtrain": {"run": "x.1"}, "tags": ["a"]}
    book.write_text(json.dumps(ran))
    executed = ExecutedNotebook(book, tmp_path / "b.ipynb")
    for number, part in enumerate(["pass  # %load_ext dtrain_lab", "pass", "# nothing", "pass\nn = 1"], 1):
        executed.begin(f"[{number}]", part)
    executed.write()
    made = json.loads((tmp_path / "b.ipynb").read_text())["cells"]
    assert [cell["execution_count"] for cell in made] == [None, 2, 3, 4]
    assert made[1]["metadata"] == {"tags": ["a"]}, "it ran on a cluster then, and its bar would say so"


def test_the_cell_of_parameters_says_when_they_were_set_not_where(tmp_path: Path) -> None:
    """A trial of a sweep, `dt.submit` and `submit --param` have parameters, too, and no form."""
    executed = ExecutedNotebook(write(tmp_path / "a.ipynb", [("n = 1", "parameters")]), tmp_path / "b.ipynb")
    executed.begin("[1]", "n = 1")
    executed.begin("parameters", "n = 21\n")
    executed.write()
    made = json.loads((tmp_path / "b.ipynb").read_text())["cells"][1]
    assert made["metadata"]["tags"] == ["injected-parameters"]
    assert made["source"] == "# Parameters of this job, set when it was submitted\nn = 21\n"
