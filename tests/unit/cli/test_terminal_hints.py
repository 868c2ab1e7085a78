"""A terminal names its own commands where a notebook names its magics."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

import dtrain_lab
from dtrain_lab.api.job import Job
from dtrain_lab.api.submitted import in_python
from dtrain_lab.api.sweep import Sweep
from dtrain_lab.cli import cluster as cluster_commands
from dtrain_lab.cli.base.show import in_terminal
from dtrain_lab.cli.main import main
from dtrain_lab.kernel.options import line_parser
from tests.unit.cli.hint_texts import NAME, NUMBER, RANKS, texts

MAGIC = re.compile(r"(?<!%)%distributed ([a-z]\w*)((?: (?:--?[a-z]+|[A-Z]+\b|[\d,-]*\d|a1b2))*)")
OF_NOTEBOOKS = {"push", "pull", "wait", "output"}
"""Commands about a notebook's variables and cells: a terminal has none."""
COMMAND = re.compile(r"\bdtrain-lab ([a-z][\w-]*(?: .*)?)")
PROSE = re.compile(r"(again|cannot|could|gave|has|in|is|keeps|may|needs|on|processes|repr|there|where)\b")
"""Words after the program's name in sentences about it."""
METHOD = re.compile(r"\b(job|sweep)\.(\w+)\((?:(\w+)=True)?\)")
BUILT = {"jobs/command.py", "cli/base/show.py", "cli/main.py"}
"""Modules that put commands together: their strings are parts of them."""


@pytest.mark.parametrize(
    ("said", "there"),
    [
        ("Start one: %distributed start", "Start one: dtrain-lab cluster start"),
        ("Restart it: %distributed restart 1.", "Restart it: dtrain-lab cluster restart a --ranks 1."),
        ("%distributed restart 0,2-3, or wait.", "dtrain-lab cluster restart a --ranks 0,2-3, or wait."),
        ("%distributed stop ends it.", "dtrain-lab cluster stop a ends it."),
        ("Or: %distributed attach other", "Or: dtrain-lab cluster show other"),
        ("Compare: %distributed resize N", "Compare: dtrain-lab cluster start --ranks N"),
        (
            "Copy: %distributed restart 1 --from 0, or load.",
            "Copy: dtrain-lab cluster restart a --ranks 1 --from 0, or load.",
        ),
        ("See: %distributed status. Or wait.", "See: dtrain-lab cluster show a. Or wait."),
        ("See: %distributed stacks --all", "See: dtrain-lab cluster stacks a --all"),
        ("Ask: %distributed diagnose", "Ask: dtrain-lab cluster diagnose a"),
    ],
)
def test_commands_are_the_terminals_own(said: str, there: str) -> None:
    assert in_terminal(said, "a") == there


SHOWN = {(NAME, f"%distributed {NAME}")}
"""Texts with a command in place of a sample."""
MAGICS = sorted({(match[1], match[0]) for _, text in texts() for match in MAGIC.finditer(text)} - SHOWN)


@pytest.mark.parametrize(("verb", "said"), MAGICS)
def test_each_command_of_a_notebook_that_a_text_names_exists_also_in_a_terminal(verb: str, said: str) -> None:
    if verb != "pull":  # of which a sentence speaks
        words = [NUMBER if word == "N" else word for word in said.split()[1:]]
        line_parser().read(words)
    there = in_terminal(said, "a")
    if verb in OF_NOTEBOOKS:
        assert there == said
    else:
        parse(there)
        assert "distributed" not in there


COMMANDS = sorted(
    {
        match[1]
        for module, text in texts()
        if module not in BUILT and "{}" not in text
        for match in COMMAND.finditer(in_terminal(text, NAME))
        if not PROSE.match(match[1])
    }
)


@pytest.mark.parametrize("said", COMMANDS)
def test_each_command_of_the_terminal_that_a_text_names_exists(said: str) -> None:
    parse(f"dtrain-lab {said}")


def parse(said: str) -> None:
    """Parse the command at the start of a text with click's own parser.

    Raises:
        click.UsageError: There is no such command, or it has not these arguments and options.
    """
    words = re.split(r"[.;:)`'\"]* |[.;:,)`'\"]+$", said)[1:]
    command: click.Command = main
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.commands.get(name)
        if found is None:
            raise click.UsageError(f"no command {name}")
        command = found
    with command.make_context(command.name, _arguments(command, words)):
        pass


def _arguments(command: click.Command, words: list[str]) -> list[str]:
    """Take arguments and options of a command from the words that follow its name."""
    options = {opt: p for p in command.params if isinstance(p, click.Option) for opt in p.opts}
    missing = sum(isinstance(p, click.Argument) for p in command.params)
    given: list[str] = []
    while words and (words[0].startswith("-") or (missing and words[0])):
        word = words.pop(0)
        given.append(word.rstrip(","))
        option = options.get(word)
        if option is not None and not option.is_flag and words:
            word = words.pop(0)
            given.append(NUMBER if word == "N" else word.rstrip(","))
        elif option is None:
            missing -= 1
        if word.endswith(","):
            break
    return given


OF_ONE = re.compile(rf"dtrain-lab (?:job|sweep) \w+ {NAME}(?: --\w+)?")
OWN = sorted({said for _, text in texts() for said in OF_ONE.findall(text)})


@pytest.mark.parametrize("said", OWN)
def test_a_hint_for_python_names_methods_that_exist(said: str) -> None:
    there = in_python(said, NAME)
    if there == said:
        return
    method = METHOD.fullmatch(there)
    assert method is not None
    function = getattr(Job if method[1] == "job" else Sweep, method[2])
    assert method[3] is None or method[3] in inspect.signature(function).parameters


def test_functions_that_texts_name_exist() -> None:
    named = {name for _, text in texts() for name in re.findall(r"(?<![\w.])dt\.([a-z]\w*)\b(?!\.)", text)}
    assert named
    assert [name for name in sorted(named) if name not in dtrain_lab.__all__] == []


def test_a_restart_copies_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def restart(*words: Any) -> str:
        asked.append(words)
        return "Copied x."

    monkeypatch.setattr(cluster_commands, "reach", lambda name: SimpleNamespace(restart=restart))
    words = ["cluster", "restart", "a", "--ranks", RANKS, "--from", "1"]
    done = CliRunner().invoke(main, words)
    assert (done.output, asked) == ("a: Copied x.\n", [(RANKS, 1)])
    done = CliRunner().invoke(main, words[:3])
    assert done.output == "a: restarted; the variables of those ranks are gone.\n"
