"""Whether a notebook passes a sweep's objective to `dt.log`, told before anything runs."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from dtrain_lab.jobs.check import local_modules
from dtrain_lab.jobs.check.notebook import running
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.sweeps.objective import OWN, can_be, finding
from dtrain_lab.wire.jobs.finding import Finding

HEAD = "import torch\nimport dtrain_lab as dt\n"


def look(
    code: str, modules: Mapping[str, str] | None = None, objective: str = "loss", tags: tuple[str, ...] = ()
) -> Finding | None:
    """Look in a cell, and in modules that lie beside it."""
    files = {name.replace(".", "/") + ".py": text for name, text in (modules or {}).items()}
    parsed = running([Cell("[1]", "a", code, tags)])
    return finding([*parsed, *(one.parsed for one in local_modules.modules(parsed, files.get))], objective)


@pytest.mark.parametrize(
    ("code", "modules"),
    [
        (HEAD + "dt.log(1, loss=2)", {}),
        ("import dtrain_lab\nif rank == 0:\n    dtrain_lab.log(1, average=True, loss=2)", {}),
        ("import dtrain_lab as d\ndef f():\n    d.log(1, a=1, loss=2)", {}),
        ("from dtrain_lab import log as say\nsay(1, loss=2)", {}),
        (HEAD + "dt.log(1, **{'loss': 2, 'other': 3})", {}),
        ("from helpers import *\ndt.log(1, loss=2)", {}),
        ("from helpers import d\nd.log(1, loss=2)", {"helpers": "import dtrain_lab as d"}),
        ("%run helpers.py", {"helpers": HEAD + "dt.log(1, loss=2)"}),
        ("import helpers", {"helpers": HEAD + "def go():\n    dt.log(1, loss=2)"}),
        ("from pkg.train import go", {"pkg.train": HEAD + "dt.log(1, loss=2)"}),
        (
            "from pkg import go",
            {"pkg.__init__": "from .deep import go", "pkg.deep": HEAD + "dt.log(1, loss=2)"},
        ),
        (
            "import pkg.a",
            {
                "pkg.__init__": "",
                "pkg.a": "from . import b",
                "pkg.b": "import dtrain_lab\ndtrain_lab.log(1, loss=0)",
            },
        ),
    ],
)
def test_an_objective_that_a_call_passes_is_found(code: str, modules: Mapping[str, str]) -> None:
    assert look(code, modules) is None


def test_an_objective_that_no_call_passes_is_a_problem_with_its_place() -> None:
    found = look(HEAD + "dt.log(1, loss=2, step_s=3, top5=1)", objective="accuracy")
    assert found is not None
    assert (found.severity, found.code, found.field) == ("problem", "no_objective", "objective")
    assert found.message == 'No trial would report "accuracy": dt.log is called with loss, step_s, top5.'
    assert found.fix == "Call dt.log(step, accuracy=…) in the notebook, or optimize loss, step_s or top5."
    assert (found.cell, found.line) == ("[1]", 3)


@pytest.mark.parametrize(
    "code",
    [
        "x = 1",
        "dt = 0.1\nx = x + dt",  # a step in time
        HEAD + "print(1)",
        HEAD + "print(dt.__version__, getattr(model, 'depth'))\ndt.optimize(model)",
        HEAD
        + "import torch.nn.functional as F\nfrom torch import nn\ngetattr(F, act)(x); getattr(nn, name)()",
        HEAD + "model.eval()\nself.log('loss', 1)\ndt.log(3)",
    ],
)
def test_a_notebook_that_logs_nothing_is_a_problem(code: str) -> None:
    found = look(code)
    assert found is not None
    assert found.severity == "problem"
    assert found.message == 'No trial would report "loss": no cell calls dt.log with a name.'


@pytest.mark.parametrize(
    ("code", "modules", "source"),
    [
        (HEAD + "dt.log(1, **values)", {}, "**values"),
        (HEAD + "dt.log(1, a=1)\ntrain(report=dt.log)", {}, "code that knows dt.log by another name"),
        ("import mylib.training", {}, "the module mylib"),
        ("import helpers", {"helpers": "import mylib"}, "the module mylib"),
        ("import helpers", {"helpers": "def broken("}, "the module helpers"),
        (
            "from helpers import say",
            {"helpers": "from dtrain_lab import log as say"},
            "helpers.py",
        ),
        (HEAD + "exec(text)", {}, "code that is generated or loaded at run time"),
        ("%run train.py", {}, "code that is generated or loaded at run time"),
        (HEAD + "def f(d):\n    d.log(1, loss=2)\nf(dt)", {}, "code that knows dt by another name"),
        (HEAD + "logger = dt\nlogger.log(1, loss=2)", {}, "code that knows dt by another name"),
        ("from dtrain_lab.training.log import log\nlog(1, loss=2)", {}, "the module dtrain_lab.training.log"),
        ("import dtrain_lab.training.log as one\none.log(1)", {}, "the module dtrain_lab.training.log"),
        ("from dtrain_lab import training", {}, "the module dtrain_lab.training"),
        (HEAD + "dt.training.log.log(1, loss=2)", {}, "dt.training"),
        (HEAD + "getattr(dt, 'log')(1, loss=2)", {}, "code that is generated or loaded at run time"),
        (HEAD + "getattr(model, name)(1, loss=2)", {}, "code that is generated or loaded at run time"),
        (
            "import helpers as F\ngetattr(F, act)(x)",
            {"helpers": ""},
            "code that is generated or loaded at run time",
        ),
        (HEAD + "globals()['dt'].log(1, loss=2)", {}, "code that is generated or loaded at run time"),
        ("!python train.py", {}, "a shell command"),
        ("import subprocess\nsubprocess.run(['python', 'train.py'])", {}, "the module subprocess"),
        ("import os\nos.system('python train.py')", {}, "code that is generated or loaded at run time"),
        (
            "from helpers import d as e\ne.log(1, loss=2)",
            {"helpers": "import dtrain_lab as d"},
            "code that knows d by another name",
        ),
        (
            "import helpers\nhelpers.go(helpers.d)",
            {"helpers": "import dtrain_lab as d"},
            "code that knows helpers.d by another name",
        ),
    ],
)
def test_what_can_not_be_read_is_a_warning(code: str, modules: Mapping[str, str], source: str) -> None:
    found = look(code, modules)
    assert found is not None
    assert found.severity == "warning"
    assert found.fix == f"The sweep ends after its first trial unless {source} reports it."


@pytest.mark.parametrize(
    "code",
    [
        *(f"import {name}\ngetattr({name}, asked)(text)" for name in ("builtins", "importlib", "sys", "os")),
        "from importlib import util\ngetattr(util, asked)(x)",
        "import builtins\nbuiltins.exec(text)",
        "import builtins\ngetattr(builtins, 'exec')(text)",
        "import sys\nsys.modules[name].log(1, loss=2)",
    ],
)
def test_modules_that_hand_out_others_are_not_trusted(code: str) -> None:
    found = look(code)
    assert found is not None
    assert found.severity == "warning"
    assert "code that is generated or loaded at run time" in found.fix


def test_cells_that_a_job_skips_are_not_read() -> None:
    found = look(HEAD + "dt.log(1, loss=1)", tags=("skip-in-job",))
    assert found is not None
    assert found.severity == "problem"


def test_a_name_that_dt_log_can_not_be_called_with_is_no_objective() -> None:
    assert can_be("loss")
    assert not any(map(can_be, ("", "a b", "step", "average", "lambda")))


def test_the_form_knows_the_same_names() -> None:
    sweeps = Path(__file__).parents[3] / "src/sweeps/model"
    own = re.search(r"OWN: [^=]*= \[(.*?)\]", (sweeps / "objectives.ts").read_text())
    keywords = re.search(r"KEYWORDS: [^=]*=\s*'(.*?)'", (sweeps / "searchSpace.ts").read_text())
    assert own is not None
    assert keywords is not None
    assert tuple(re.findall(r"'(\w+)'", own[1])) == OWN
    assert keywords[1].split() == keyword.kwlist
