"""What a job's script says in variables is what its ranks read."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

import dtrain_lab
from dtrain_lab.jobs import environment_variables
from dtrain_lab.jobs.environment_variables import JobEnvironment, Monitored
from dtrain_lab.wire.jobs.framework import FrameworkPlan

PACKAGE = Path(dtrain_lab.__file__).parent


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
    assert environment_variables.monitored({environment_variables.MONITOR: text}) == monitor
    assert environment_variables.monitored({}) == Monitored()


def test_ranks_read_the_framework_that_the_script_names() -> None:
    plan = FrameworkPlan("tensorflow", "parameter_server", ("chief", "worker", "ps"))
    told = {environment_variables.FRAMEWORK: msgspec.json.encode(plan).decode()}
    assert environment_variables.framework(told) == plan
    assert environment_variables.of_other_framework(told)
    assert environment_variables.framework({}) is None
    assert not environment_variables.of_other_framework({})


def test_agents_and_ranks_read_what_the_script_writes() -> None:
    written = JobEnvironment(
        folder="/jobs/1",
        notebook="a.ipynb",
        checkpoints="/jobs/0/checkpoints",
        monitored=Monitored(guard=True),
        framework=FrameworkPlan("tensorflow", "parameter_server", ("chief", "worker", "ps")),
        accelerator="npu",
        forks=True,
    )
    assert JobEnvironment.from_environ(written.to_environ()) == written
    assert JobEnvironment.from_environ({}) == JobEnvironment()


def test_what_depends_on_the_node_and_the_attempt_is_read() -> None:
    names = environment_variables
    told = {
        names.PEER: "node2",
        names.NODES: "node1 node2",
        names.ATTEMPT: "0",
        names.NEVER: '{"code": "no_secret", "message": "It has no secret."}',
    }
    read = JobEnvironment.from_environ(told)
    assert (read.peer, read.nodes) == ("node2", ("node1", "node2"))
    assert read.attempt == 0, "torchrun counts only where the script does not"
    assert read.never == "It has no secret"


def test_they_are_named_in_one_place() -> None:
    """A generated script has no dtrain_lab: its helpers have names of their own, and these are the same."""
    own = {value for name, value in vars(environment_variables).items() if name.isupper() and name != "FILES"}
    named: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        found = set(re.findall(r"\bDTRAIN_(?!LAB_)[A-Z]+(?:_[A-Z]+)*\b", path.read_text()))
        if found:
            named[str(path.relative_to(PACKAGE))] = found
    assert named.pop("jobs/environment_variables.py") == own
    assert named.pop("jobs/notebook/magic_helpers.py") <= own
    assert named == {}
