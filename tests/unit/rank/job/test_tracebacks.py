"""The traceback of an error that ends a job's rank."""

from __future__ import annotations

from dtrain_lab.rank.job import tracebacks

CELL = "train.ipynb[2]"
GROUP = """def load():
    open("/no/such/file")
try:
    load()
except OSError as error:
    raise {raised} from error
"""


def told(source: str) -> list[str]:
    """The lines of what a cell with this source raises."""
    try:
        exec(compile(source, CELL, "exec"), {})
    except Exception as error:  # noqa: BLE001
        return tracebacks.text(error, {CELL}).splitlines()
    raise AssertionError("nothing was raised")


def test_the_cause_of_an_error_is_told_before_it_each_from_the_cell_on() -> None:
    lines = told(GROUP.format(raised='RuntimeError("no data")'))
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{CELL}", line 4, in <module>'
    cause = lines.index("FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file'")
    assert lines[cause + 2] == "The above exception was the direct cause of the following exception:"
    assert lines[cause + 5 :] == [f'  File "{CELL}", line 6, in <module>', "RuntimeError: no data"]
    assert not any(__file__ in line for line in lines), "what has run the cell is not the user's"


def test_errors_of_a_group_are_told() -> None:
    lines = told('raise ExceptionGroup("two shards", [ValueError("shard 1"), KeyError("shard 2")])')
    assert lines[0] == "  + Exception Group Traceback (most recent call last):"
    assert [line for line in lines if "shard 1" in line] == ["    | ValueError: shard 1"]
    assert not any(__file__ in line for line in lines)


def test_a_syntax_error_is_its_own_place() -> None:
    assert told("a b")[0] == f'  File "{CELL}", line 1'
