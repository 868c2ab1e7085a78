"""The check of a sweep looks at what its trials take along, and asks hosts once while somebody types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.backends.local.backend import LocalBackend
from dtrain_lab.services import paths
from dtrain_lab.services.index.store import JobIndex
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.policy import backends
from dtrain_lab.services.sweeps.sweeps import Sweeps
from dtrain_lab.wire.jobs.job import JobSize
from dtrain_lab.wire.profile import Profile
from dtrain_lab.wire.sweeps import SweepPlan, SweepRequest
from tests.books import write

PARAMETERS = ("lr = 0.1", "parameters")
LOGS = "import dtrain_lab as dt\ndt.log(1, loss=2)"
REQUEST = SweepRequest("train.ipynb", space={"lr": [0.1, 0.2]}, objective="loss", sampler="grid")


class Host(LocalBackend):
    """This machine, which counts what it is asked."""

    asked = 0

    async def facts(self, profile: Profile) -> Any:
        self.asked += 1
        return await super().facts(profile)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    made = Host()
    monkeypatch.setattr(backends, "backend", lambda _: made)
    monkeypatch.setattr(paths, "profiles", lambda: tmp_path / "profiles")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "profiles").mkdir()
    return made


@pytest.fixture
def sweeps(tmp_path: Path, host: Host) -> Sweeps:
    return Sweeps(Jobs(JobIndex(tmp_path / "jobs.sqlite")))


def of_objective(plan: SweepPlan) -> list[tuple[str, str]]:
    return [(f.severity, f.fix) for f in plan.findings if f.code == "no_objective"]


async def test_hosts_are_asked_once_while_somebody_types(tmp_path: Path, sweeps: Sweeps, host: Host) -> None:
    file = write(tmp_path / "book" / "train.ipynb", [PARAMETERS, LOGS])
    for trials in (1, 2):
        plan = await sweeps.plan(replace(REQUEST, trials=trials), file)
        assert (plan.total, of_objective(plan)) == (trials, [])
        assert plan.parallel
    assert host.asked == 1


HELPERS = ("warning", "The sweep ends after its first trial unless the module helpers reports it.")


@pytest.mark.parametrize(
    ("ignored", "files", "found"),
    [("", True, []), ("helpers.py\n", True, [HELPERS]), ("", False, [HELPERS])],
)
async def test_only_files_that_a_trial_takes_count(
    tmp_path: Path, sweeps: Sweeps, ignored: str, files: bool, found: list[Any]
) -> None:
    file = write(tmp_path / "book" / "train.ipynb", [PARAMETERS, "import helpers"])
    (file.parent / "helpers.py").write_text(LOGS)
    (file.parent / ".dtrainignore").write_text(ignored)
    assert of_objective(await sweeps.plan(replace(REQUEST, files=files), file)) == found


@pytest.mark.parametrize("way", ["%run ../above.py", "import sys\nsys.path.insert(0, '..')\nimport above"])
async def test_nothing_outside_the_folder_is_read(tmp_path: Path, sweeps: Sweeps, way: str) -> None:
    file = write(tmp_path / "book" / "train.ipynb", [PARAMETERS, way])
    (tmp_path / "above.py").write_text("import dtrain_lab as dt\ndt.log(1, secret=2)")
    plan = await sweeps.plan(REQUEST, file)
    assert "secret" not in str(plan.findings)
    assert [severity for severity, _ in of_objective(plan)] == ["warning"]


async def test_a_finding_names_the_parameter_at_fault(tmp_path: Path, sweeps: Sweeps) -> None:
    file = write(tmp_path / "book" / "train.ipynb", [PARAMETERS, LOGS])
    request = replace(REQUEST, space={"lr": "uniform(0, 1)"})
    (found,) = [f for f in (await sweeps.plan(request, file)).findings if f.severity == "problem"]
    assert (found.code, found.field, found.parameter) == ("no_grid", "space", "lr")


async def test_a_number_of_trials_that_makes_no_sense_is_no_size(tmp_path: Path, sweeps: Sweeps) -> None:
    file = write(tmp_path / "book" / "train.ipynb", [PARAMETERS, LOGS])
    plan = await sweeps.plan(replace(REQUEST, trials=-1, parallel=-2), file)
    assert plan.total == 2
    assert plan.parallel is None, "it can't begin"
    assert [f.field for f in plan.findings if f.severity == "problem"] == ["trials"]


@pytest.mark.parametrize("given", [{"space": {"lr": ["0.1;0.2"]}}, {"parameters": {"steps": "1O"}}])
async def test_texts_for_a_number_are_found_beside_their_parameter(
    tmp_path: Path, sweeps: Sweeps, given: dict[str, Any]
) -> None:
    file = write(tmp_path / "book" / "train.ipynb", [("lr = 0.1\nsteps = 10", "parameters"), LOGS])
    plan = await sweeps.plan(replace(REQUEST, **given), file)
    (found,) = [f for f in plan.findings if f.severity == "problem"]
    assert (found.code, found.field) == ("bad_value", next(iter(given)))
    assert {found.parameter} == {name for some in given.values() for name in some}


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({}, (1, 1)),
        ({"ranks_per_node": 2}, (1, 2)),
        ({"ranks": 2}, (1, 2)),
        ({"ranks_per_node": None}, (1, 3)),
    ],
)
async def test_a_trial_has_one_rank_unless_the_user_says_otherwise(
    tmp_path: Path, sweeps: Sweeps, given: dict[str, Any], size: tuple[int, int]
) -> None:
    (tmp_path / "profiles" / "local.toml").write_text('backend = "local"\nranks_per_node = 3')
    file = write(tmp_path / "book" / "train.ipynb", [PARAMETERS, LOGS])
    plan = await sweeps.plan(replace(REQUEST, **given), file)
    assert plan.size == JobSize(*size)


async def test_a_string_that_is_no_mistyped_number_is_a_warning(tmp_path: Path, sweeps: Sweeps) -> None:
    file = write(tmp_path / "book" / "train.ipynb", [("lr = 0.1\nweights = False", "parameters"), LOGS])
    plan = await sweeps.plan(replace(REQUEST, parameters={"weights": "imagenet"}), file)
    (found,) = [f for f in plan.findings if f.code == "string_value"]
    assert (found.severity, found.field, found.parameter) == ("warning", "parameters", "weights")
    assert not [f for f in plan.findings if f.severity == "problem"]


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"lr": [0.1, None]}, "lr is set to None; the notebook has 0.1."),
        ({"data": [3, 4]}, 'data is set to 3; the notebook has "digits".'),
        ({"sure": "randint(0, 1)"}, None),
    ],
)
async def test_values_of_another_type_are_told_as_for_a_job(
    tmp_path: Path, sweeps: Sweeps, space: dict[str, Any], said: str | None
) -> None:
    source = "lr = 0.1\ndata = 'digits'\nsure = True"
    file = write(tmp_path / "book" / "train.ipynb", [(source, "parameters"), LOGS])
    plan = await sweeps.plan(replace(REQUEST, space=space, sampler="random"), file)
    found = [f for f in plan.findings if f.code == "other_type"]
    assert [(f.message, f.severity, f.field) for f in found] == ([(said, "warning", "space")] if said else [])


@pytest.mark.parametrize(
    ("space", "said", "fix"),
    [
        (
            {"data": "uniform(0, 1)"},
            'data can\'t vary over uniform(0.0, 1.0): the notebook has "digits", not a number.',
            "Give a list of values, each of them a string.",
        ),
        (
            {"data": "loguniform(1, 2)"},
            'data can\'t vary over loguniform(1.0, 2.0): the notebook has "digits", not a number.',
            "Give a list of values, each of them a string.",
        ),
        (
            {"sure": "randint(0, 2)"},
            "sure can't vary over randint(0, 2): the notebook has True, not a number.",
            "Give a list of values, each of them True or False.",
        ),
        (
            {"dims": "randint(1, 2)"},
            "dims can't vary over randint(1, 2): the notebook has [8], not a number.",
            "Lists can't vary: vary a number, and choose by it in the notebook.",
        ),
    ],
)
async def test_a_range_of_numbers_is_refused_where_the_notebook_has_no_number(
    tmp_path: Path, sweeps: Sweeps, space: dict[str, Any], said: str, fix: str
) -> None:
    source = "lr = 0.1\ndata = 'digits'\nsure = True\ndims = [8]"
    file = write(tmp_path / "book" / "train.ipynb", [(source, "parameters"), LOGS])
    plan = await sweeps.plan(replace(REQUEST, space=space, sampler="random"), file)
    (found,) = [f for f in plan.findings if f.severity == "problem"]
    assert (found.message, found.fix) == (said, fix)
    assert (found.code, found.field, found.parameter) == ("bad_value", "space", *space)


async def test_a_trial_has_an_integer_where_the_notebook_has_one(tmp_path: Path, sweeps: Sweeps) -> None:
    file = write(tmp_path / "book" / "train.ipynb", [("epochs = 3", "parameters"), LOGS])
    plan = await sweeps.plan(replace(REQUEST, space={"epochs": [1e3, 2e3]}), file)
    (script,) = [f for f in plan.files if f.path == "code/dtrain_main.py"]
    assert script.text is not None
    assert "\nepochs = 1000\n" in script.text
    assert not plan.findings
