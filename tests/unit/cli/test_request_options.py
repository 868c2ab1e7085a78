"""Options of jobs and sweeps: every client has the same ones, and what has none says why."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import click
import pytest

import dtrain_lab as dt
from dtrain_lab.cli.jobs.request_options import request_of
from dtrain_lab.cli.jobs.submit import submit
from dtrain_lab.cli.jobs.sweep import run
from dtrain_lab.jobs.request_options import JOB_OPTIONS, SWEEP_OPTIONS
from dtrain_lab.wire.jobs.job import JobRequest, JobSubmit
from dtrain_lab.wire.sweeps import SweepRequest

NO_OPTION = {
    "python": "the terminal and Python pass their own interpreter, the server that of the kernel",
    "names": "only a page knows what the kernel defines",
    "sweep": "of a trial, whose driver sets it",
    "at_once": "the same",
    "plan": "REST submits a plan by its id; the others plan and submit in one call",
}
"""Fields of a request for which a client has no option."""
NOT_IN_PYTHON = {"kernel": "a program runs the notebook with its own Python"}
NOT_IN_REST = {
    "dry_run": "a route of its own: POST jobs/plan, POST sweeps/plan",
    "json": "REST answers with JSON only",
}
NOT_OF_PYTHONS_SWEEP = {
    "dry_run": "dt.sweep checks before it starts anything, and has nothing to show before"
}


def in_rest(kind: type[JobRequest]) -> set[str]:
    return {*kind.__struct_fields__} - NO_OPTION.keys()


def in_terminal(command: click.Command) -> set[str]:
    """Fields that a command's options and arguments stand for."""
    named = {"params": {"parameters", *(("space",) if command is run else ())}, "as_json": {"json"}}
    return set().union(*(named.get(param.name or "", {param.name}) for param in command.params))


def in_python(call: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(call).parameters)


@pytest.mark.parametrize(
    ("kind", "command", "call"), [(JobSubmit, submit, dt.submit), (SweepRequest, run, dt.sweep)]
)
def test_clients_have_the_same_options(
    kind: type[JobRequest], command: click.Command, call: Callable[..., Any]
) -> None:
    rest = in_rest(kind)
    assert in_terminal(command) - NOT_IN_REST.keys() == rest
    assert in_python(call) - NOT_IN_REST.keys() == rest - NOT_IN_PYTHON.keys()
    without = NOT_OF_PYTHONS_SWEEP if call is dt.sweep else {}
    assert ("dry_run" in in_python(call)) == ("dry_run" not in without)


def test_a_sweep_has_every_option_of_a_job() -> None:
    assert in_terminal(submit) <= in_terminal(run)
    assert in_python(dt.submit) - NOT_OF_PYTHONS_SWEEP.keys() <= in_python(dt.sweep)


def test_each_option_is_a_field_that_is_declared_once() -> None:
    job, sweep = ([option.field for option in options] for options in (JOB_OPTIONS, SWEEP_OPTIONS))
    assert sorted(job) == sorted(in_rest(JobRequest) - {"notebook", "parameters"})
    assert sorted(job + sweep) == sorted(in_rest(SweepRequest) - {"notebook", "parameters", "space"})


@pytest.mark.parametrize("call", [dt.submit, dt.sweep])
def test_python_documents_each_option_and_has_the_requests_defaults(call: Callable[..., Any]) -> None:
    kind = JobRequest if call is dt.submit else SweepRequest
    usual = kind("x", **({} if call is dt.submit else {"space": {}, "objective": ""}))
    arguments = (call.__doc__ or "").partition("Args:")[2].partition("Raises:")[0]
    for name, parameter in inspect.signature(call).parameters.items():
        assert f"{name}:" in arguments or f"{name}," in arguments, name
        if parameter.default is not inspect.Parameter.empty and name in kind.__struct_fields__:
            assert (parameter.default or None) == (getattr(usual, name) or None), name


def request(command: click.Command, kind: type[JobRequest], *words: str, **more: Any) -> JobRequest:
    """The request that a line makes."""
    with click.Context(command) as context:
        command.parse_args(context, ["x.ipynb", *words])
        given = {k: v for k, v in context.params.items() if k not in ("params", "dry_run", "as_json")}
    return request_of(kind, given.pop("notebook"), given, **more)


def test_a_line_makes_its_request() -> None:
    usual = request(submit, JobRequest, "--kernel", "k")
    assert usual == JobRequest("x.ipynb", kernel="k")
    assert request(submit, JobRequest).python is not None
    swept = request(run, SweepRequest, "--objective", "loss", "--kernel", "k", space={})
    assert swept == SweepRequest("x.ipynb", objective="loss", space={}, kernel="k")

    words = [
        "--interface",
        "ib0",
        "--warn",
        "5",
        "--no-monitor",
        "--no-files",
        "--option",
        "-a",
        "--option",
        "-b",
    ]
    words += ["--kernel", "k", "--nodes", "2", "--mail", "me@here", "--after", "first", "--launcher", "srun"]
    fields: dict[str, Any] = {"interface": "ib0", "warn_s": 5, "monitor": False, "files": False}
    fields |= {"options": ("-a", "-b"), "kernel": "k", "nodes": 2, "mail": "me@here", "after": "first"}
    fields |= {"launcher": "srun"}
    assert request(submit, JobRequest, *words) == JobRequest("x.ipynb", **fields)
    words += ["--objective", "loss", "--pruner", "asha"]
    asked = SweepRequest("x.ipynb", objective="loss", space={}, pruner="asha", **fields)
    assert request(run, SweepRequest, *words, space={}) == asked


@pytest.mark.parametrize("option", ["--launcher=agents", "--nodes=many", "--framework"])
def test_a_line_is_checked_by_the_fields_type(option: str) -> None:
    with pytest.raises(click.UsageError):
        request(submit, JobRequest, option)
