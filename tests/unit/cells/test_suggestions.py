"""What was meant by a name that does not exist: one form in cells, terminal and files."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from dtrain_lab.cli.main import main
from dtrain_lab.errors import BadRequest
from dtrain_lab.kernel.options import line_parser
from dtrain_lab.text import suggestions


@pytest.mark.parametrize(
    ("word", "near"),
    [("statsu", "status"), ("sto", "stop"), ("s", None), ("xyz", None), ("", None), ("wait", "wait")],
)
def test_the_nearest_name_is_the_only_one_that_begins_so_or_the_most_similar(
    word: str, near: str | None
) -> None:
    known = ("status", "start", "stop", "wait")
    assert suggestions.nearest(word, known) == near
    assert suggestions.did_you_mean(word, known) == (f"Did you mean {near}?" if near else "")


@pytest.mark.parametrize("words", [["start", "--rank", "3"], ["strt"]])
def test_terminal_and_notebook_word_the_same_mistake_alike(words: list[str]) -> None:
    with pytest.raises(BadRequest) as refused:
        line_parser().read(words)
    told = CliRunner().invoke(main, ["cluster", *words])
    said = refused.value.message.replace("%distributed", "dtrain-lab cluster")
    assert told.stderr.splitlines()[-1] == f"Error: {said}"


def test_every_group_of_the_terminal_words_it_so() -> None:
    groups = [name for name, one in main.commands.items() if isinstance(one, click.Group)]
    assert groups
    for name in groups:
        told = CliRunner().invoke(main, [name, "lst"])
        assert f'dtrain-lab {name} has no command "lst". Did you mean list?' in told.stderr
