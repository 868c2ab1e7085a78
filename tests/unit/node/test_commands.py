"""The subcommands of `python -m dtrain_lab.node`, and those that scripts of earlier versions call."""

from __future__ import annotations

import pytest

from dtrain_lab.node import task_number
from dtrain_lab.node.__main__ import NAMES, command, of_today


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_a_command(name: str) -> None:
    assert callable(command(name))


def test_a_mistyped_name_joins_no_world(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        command("rank")
    assert exit_.value.code == 2
    assert "rank is unknown; use one of admit, bridge," in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "today"),
    [
        ("attached /f", "ranks /f"),
        ("turn /f 1", "admit /f 1"),
        ("join /f/endpoints.json", "join /f/endpoints.json SLURM_NODEID"),
        ("stage /f /scratch/x", "stage /f /scratch/x SLURM_NODEID 2"),
        ("join - 3", "join - 3"),
        ("stage /f /scratch/x 1", "stage /f /scratch/x 1"),
    ],
)
def test_scripts_of_earlier_versions_are_understood(given: str, today: str) -> None:
    assert " ".join(of_today(given.split())) == today


def test_a_task_is_numbered_by_its_argument_or_by_the_variable_that_it_names() -> None:
    assert task_number.of("3") == 3
    assert task_number.of("SLURM_NODEID", {"SLURM_NODEID": "2"}) == 2
