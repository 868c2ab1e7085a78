"""A request as a line for a terminal: what a shell and click make of it is the request again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import dtrain_lab as dt
from dtrain_lab.cli.jobs.parameters import parameters_of
from dtrain_lab.cli.jobs.submit import submit
from dtrain_lab.cli.jobs.sweep import run
from dtrain_lab.errors import BadRequest
from dtrain_lab.jobs.command import submit_command
from dtrain_lab.jobs.request_options import JOB_OPTIONS
from dtrain_lab.wire.jobs.job import JobRequest
from tests.books import write


def given(request: JobRequest) -> dict[str, Any]:
    """What the command reads of its own line."""
    words = shlex.split(submit_command(request, "/home/me/a b.ipynb").replace("\\\n", " "))
    assert words[:2] == ["dtrain-lab", "submit"]
    with click.Context(submit) as context:
        submit.parse_args(context, words[2:])
        return context.params


def test_what_is_usual_needs_no_option() -> None:
    assert submit_command(JobRequest("x"), "/home/me/train.ipynb") == "dtrain-lab submit /home/me/train.ipynb"


def test_all_of_a_request_comes_back() -> None:
    request = JobRequest(
        "x",
        profile="gpu",
        nodes=2,
        ranks_per_node=4,
        name="Größe π",
        time="1-00:00:00",
        launcher="torchrun",
        after="first one",
        retries=3,
        warn_s=0,
        mail="me@here",
        notify="echo 'it is $DONE'; true",
        partition="long",
        environment="conda:/opt/my envs/torch",
        interface="ib0",
        options=("--exclusive", "--comment=a b"),
        stage=("/data/a b", "/data/ö"),
        files=False,
        monitor=False,
        kernel="python3",
        framework="torch",
    )
    found = given(request)
    assert found["notebook"] == "/home/me/a b.ipynb"
    for option in JOB_OPTIONS:
        assert found[option.field] == getattr(request, option.field), option.field


@pytest.mark.parametrize(
    "value",
    [
        3,
        0.5,
        1.0,
        True,
        None,
        "adam",
        "5",
        "true",
        "True",
        "None",
        "[True]",
        'it\'s "so" $HOME',
        "a=b",
        "",
        "größer",
        [1, "x"],
        {"a": None},
    ],
)
def test_parameters_keep_their_kind(value: Any) -> None:
    (text,) = given(JobRequest("x", parameters={"größe": value}))["params"]
    parameters = parameters_of([text])
    assert parameters == {"größe": value}
    assert type(parameters["größe"]) is type(value)


@pytest.mark.parametrize(("source", "code"), [("print(rank)", 0), ("x = = 1", 2)])
def test_a_dry_run_that_finds_problems_ends_as_a_refusal_does(
    source: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    book = write(tmp_path / "book" / "train.ipynb", [source])
    found = CliRunner().invoke(submit, [str(book), "--dry-run", "--json"])
    problems = [f for f in json.loads(found.stdout)["findings"] if f["severity"] == "problem"]
    assert (found.exit_code, bool(problems)) == (code, code > 0), found.output
    assert not (tmp_path / ".dtrain-lab" / "jobs").exists(), "nothing is submitted"


@pytest.mark.parametrize(("command", "words"), [(submit, ()), (run, ("--objective", "loss"))])
def test_a_parameter_that_is_given_twice_is_refused(
    command: click.Command, words: tuple[str, ...], tmp_path: Path
) -> None:
    book = write(tmp_path / "train.ipynb", ["print(1)"])
    twice = ("--param", "lr=1,2", "--param", "lr=3", "--dry-run")
    found = CliRunner().invoke(command, [str(book), *words, *twice])
    assert found.exit_code != 0
    assert "--param lr is given twice." in found.output


def test_every_problem_of_a_submission_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    cells = [f"print(nowhere_{number})" for number in range(5)]
    book = write(tmp_path / "book" / "train.ipynb", cells)
    alone = CliRunner().invoke(submit, [str(book)])
    lines = alone.stderr.splitlines()
    assert (alone.exit_code, len(lines)) == (2, 5), alone.output
    assert lines[0].startswith("dtrain-lab: Cell [1], line 1: nowhere_0 is not defined. Define it"), lines
    assert all(line.startswith("Also: cell [") and "Define it" in line for line in lines[1:]), lines

    beside = CliRunner().invoke(submit, [str(book), "--ranks", "9999", "--retries", "-1"])
    lines = beside.stderr.splitlines()
    assert lines[0].startswith("dtrain-lab: retries is -1; it must be 0 to 100."), lines
    assert lines[1].startswith("Also: 9,999 ranks are too many for this machine"), lines
    assert [line[:14] for line in lines[2:]] == [f"Also: cell [{number}]" for number in range(1, 6)], lines

    with pytest.raises(BadRequest) as refused:
        dt.submit(book, ranks=9999, retries=-1)
    assert str(refused.value).splitlines()[1:] == lines[1:]
    assert refused.value._render_traceback_()[2:] == lines[1:], "a notebook shows the same"
