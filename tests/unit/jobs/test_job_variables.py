"""What a job's script says in variables is what its ranks read."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec
import pytest

import dtrain_lab
from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.jobs.environment_variables import Monitored
from dtrain_lab.wire.jobs.framework import FrameworkPlan

PACKAGE = Path(dtrain_lab.__file__).parent
PLACES = {"jobs/file_names.py", "jobs/environment_variables.py", "backends/script.py"}
"""Where they are named, read, and written."""


@pytest.mark.parametrize(
    ("monitor", "text"),
    [
        (Monitored(), "1"),
        (Monitored(probe=False, guard=True), "1,no-probe,guard"),
        (Monitored(guard=True), "1,guard"),
        (Monitored(on=False), "0"),
    ],
)
def test_ranks_read_the_monitor_that_the_script_names(monitor: Monitored, text: str) -> None:
    assert monitor.text == text
    assert environment_variables.monitored({job_files.MONITOR_VARIABLE: text}) == monitor
    assert environment_variables.monitored({}) == Monitored()


def test_ranks_read_the_framework_that_the_script_names() -> None:
    plan = FrameworkPlan("tensorflow", "parameter_server", ("chief", "worker", "ps"))
    told = {job_files.FRAMEWORK_VARIABLE: msgspec.json.encode(plan).decode()}
    assert environment_variables.framework(told) == plan
    assert environment_variables.of_other_framework(told)
    assert environment_variables.framework({}) is None
    assert not environment_variables.of_other_framework({})


@pytest.mark.parametrize("name", ["FRAMEWORK_VARIABLE", "MONITOR_VARIABLE"])
def test_they_are_read_in_one_place(name: str) -> None:
    users = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if name in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if getattr(node, "attr", getattr(node, "id", "")) == name
    }
    assert users == PLACES
