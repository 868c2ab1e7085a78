"""The executed notebook of a job, without ranks."""

from __future__ import annotations

import json
from pathlib import Path

from dtrain_lab.rank.output.executed import Executed
from tests.books import write


def test_the_cell_of_parameters_says_when_they_were_set_not_where(tmp_path: Path) -> None:
    """A trial of a sweep, `dt.submit` and `submit --param` have parameters, too, and no form."""
    executed = Executed(write(tmp_path / "a.ipynb", [("n = 1", "parameters")]), tmp_path / "b.ipynb")
    executed.begin("[1]", "n = 1")
    executed.begin("parameters", "n = 21\n")
    executed.write()
    made = json.loads((tmp_path / "b.ipynb").read_text())["cells"][1]
    assert made["metadata"]["tags"] == ["injected-parameters"]
    assert made["source"] == "# Parameters of this job, set when it was submitted\nn = 21\n"
