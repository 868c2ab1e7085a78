"""The terminal's help: nothing is cut, every option is explained, and what is missing can be looked up."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from dtrain_lab.cli.main import main


def below(command: click.Command, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands, each with the words that lead to it."""
    yield names, command
    for name, one in command.commands.items() if isinstance(command, click.Group) else ():
        yield from below(one, *names, name)


COMMANDS = dict(below(main))


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_help_is_complete(names: tuple[str, ...]) -> None:
    told = CliRunner().invoke(main, [*names, "--help"], terminal_width=80)
    assert told.exit_code == 0
    assert [line for line in told.stdout.splitlines() if line.endswith("...") and "Usage" not in line] == []
    options = (one for one in COMMANDS[names].params if isinstance(one, click.Option))
    assert [option.opts for option in options if not option.help] == []


@pytest.mark.parametrize(
    ("words", "listed"),
    [
        (["cluster", "show"], "cluster"),
        (["job", "logs"], "job"),
        (["profile", "check"], "profile"),
        (["profile", "delete"], "profile"),
    ],
)
def test_a_missing_name_says_where_names_are_listed(words: list[str], listed: str) -> None:
    told = CliRunner().invoke(main, words)
    assert told.exit_code == 2
    assert f"List them: dtrain-lab {listed} list" in told.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["doctor", "--ranks", "3"], "--ranks starts nothing by itself. Add --run, or --gpu."),
        (
            ["sweep", "run", "x.ipynb", "--objective", "loss", "--param", "lr=loguniform"],
            'loguniform has no ends. Write: --param "lr=loguniform(1e-5, 1e-1)"',
        ),
        (
            ["cluster", "start", "--ranks", "2", "--nodes", "2"],
            "ranks was given together with nodes or ranks_per_node.",
        ),
        (["logs", "train"], 'dtrain-lab has no command "logs". Use: dtrain-lab job logs'),
        (["status"], 'dtrain-lab has no command "status". Commands: cluster, profile, '),
        (["clster", "list"], 'Error: dtrain-lab has no command "clster". Did you mean cluster?'),
        (["cluster", "strt"], 'Error: dtrain-lab cluster has no command "strt". Did you mean start?'),
        (["cluster", "xy"], 'Error: dtrain-lab cluster has no command "xy". Commands: start, list, '),
        (
            ["cluster", "start", "--rank", "3"],
            'Error: dtrain-lab cluster start has no option "--rank". Did you mean --ranks?',
        ),
        (
            ["submit", "x", "--node", "3"],
            'Error: dtrain-lab submit has no option "--node". Did you mean --nodes?',
        ),
        (["--hlp"], 'Error: dtrain-lab has no option "--hlp". Did you mean --help?'),
    ],
)
def test_what_can_not_be_says_what_to_do(words: list[str], said: str) -> None:
    told = CliRunner().invoke(main, words)
    assert (told.exit_code, said in told.stderr) == (2, True), told.output
