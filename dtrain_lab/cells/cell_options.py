"""The options of `%%distributed`, for the magic and for a notebook that becomes a job."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from typing import Any, NoReturn

from dtrain_lab.errors import BadRequest
from dtrain_lab.text import suggestions

CELL = "%%distributed"
LINE = "%distributed"
NUMBERS = {int: "a whole number", float: "a number"}
RANKS = re.compile(r"\d+([,–-]\d+)*,?")
"""What a person writes for ranks."""


class HelpAsked(Exception):
    """Raised when the user asks for help; its text is the help."""


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises errors with suggestions instead of exiting the process."""

    def __init__(self, **options: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False, **options)
        self.color = False  # Python 3.14 colours help in a kernel, which sets FORCE_COLOR
        self.add_argument("-h", "--help", action="store_true", help=argparse.SUPPRESS)
        self.commands: dict[str, Parser] = {}
        self.own_cluster = False
        """Whether it is a command for the notebook's cluster that takes nothing else."""
        self._nothing: dict[str, Any] | None = None
        self.shown = self.prog

    def command(self, name: str, does: str) -> Parser:
        """Add a subcommand.

        Args:
            name: Name of the subcommand.
            does: A sentence that describes it.
        """
        parser = Parser(prog=f"{self.prog} {name}", description=does)
        self.commands[name] = parser
        return parser

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse words.

        Raises:
            BadRequest: The words can't be parsed.
            HelpAsked: The user asks for help.
        """
        if self.commands:
            return self._read_command(words)
        if {"-h", "--help"} & set(words):
            raise HelpAsked(self.text())
        parsed, left = self.parse_known_args(words)
        for word in left:
            self._refuse(word, getattr(parsed, "ranks", None) or "")
        return parsed

    @property
    def defaults(self) -> dict[str, Any]:
        """Options of an empty line."""
        if self._nothing is None:
            self._nothing = vars(self.read(()))
        return self._nothing

    def text(self) -> str:
        """Return the help text."""
        if not self.commands:
            return self.format_help().rstrip()
        width = max(len(name) for name in self.commands)
        rows = [f"  {name:<{width}}  {parser.description}" for name, parser in self.commands.items()]
        return "\n".join(
            [
                f"{CELL} [RANKS]  runs the cell below it on all ranks, or some: {CELL} 0,2-3",
                f"{LINE} COMMAND  does one of these:",
                *rows,
                f"Options of one: {LINE} start --help; of a cell: {CELL} --help",
            ]
        )

    def error(self, message: str) -> NoReturn:
        """Raise an argparse error as a `BadRequest` in dtrain-lab's words.

        Raises:
            BadRequest: Always.
        """
        _, missing, names = message.partition("arguments are required: ")
        option, valueless, _ = message.removeprefix("argument ").partition(": expected one argument")
        text = f"{self.prog}: {message}."
        if missing:
            text = f"{self.prog} needs {names}."
        elif valueless:
            text = f"{self.prog}: {option} needs a value."
        raise BadRequest(text, self._usage())

    def _get_value(self, action: argparse.Action, text: str) -> Any:
        try:
            return super()._get_value(action, text)
        except argparse.ArgumentError:
            name = action.option_strings[0] if action.option_strings else str(action.metavar or action.dest)
            wanted = NUMBERS.get(action.type, "something else")  # type: ignore[call-overload]
            raise BadRequest(f'{self.prog}: {name} takes {wanted}, not "{text}".', self._usage()) from None

    def _read_command(self, words: Sequence[str]) -> argparse.Namespace:
        if words and words[0] in ("-h", "--help", "help"):
            words = (*words[1:2], "--help") if words[1:] else ()
        if not words:
            raise HelpAsked(self.text())
        name, *rest = words
        if name not in self.commands:
            raise BadRequest(self._no_command(name), f"Commands: {', '.join(self.commands)}.")
        parsed = self.commands[name].read(rest)
        parsed.command = name
        return parsed

    def _no_command(self, word: str) -> str:
        """Return the error about a line's first word, which is no command, with what was probably meant."""
        text = f'{self.prog} has no command "{word}".'
        if RANKS.fullmatch(word):
            return f"{text} To run a cell on ranks, write {CELL} {word} as its first line."
        if word.startswith("--"):
            option = word.split("=")[0]
            having = [name for name, parser in self.commands.items() if option in parser.options]
            return f"{text} Did you mean {having[0]} {option}?" if having else text
        return suggestions.refusal(self.prog, "command", word, self.commands)

    @property
    def options(self) -> list[str]:
        """Long options, such as --ranks."""
        return [o for action in self._actions for o in action.option_strings if o.startswith("--")]

    @property
    def _takes_ranks(self) -> bool:
        """Whether ranks are written without an option's name, as in `%%distributed 0`."""
        return any(action.dest == "ranks" and not action.option_strings for action in self._actions)

    def _refuse(self, word: str, ranks: str) -> NoReturn:
        if word.startswith("-"):
            name = word.split("=")[0]
            if name == "--ranks" and self._takes_ranks:
                meant = word.partition("=")[2] or ranks or "0,2-3"
                text = f'{self.prog} has no option "--ranks". Write the ranks without it: {self.prog} {meant}'
                raise BadRequest(text, self._usage())
            raise BadRequest(suggestions.refusal(self.prog, "option", name, self.options), self._usage())
        meant = suggestions.did_you_mean(f"--{word}", self.options)
        if RANKS.fullmatch(word) and self._takes_ranks:
            meant = 'Write several ranks without a space: "0,2-3".'
        elif self.own_cluster and not meant:
            meant = f"It is for this notebook's cluster. For another one, write {LINE} attach {word} first."
        raise BadRequest(f'{self.prog} does not take "{word}". {meant}'.rstrip(), self._usage())

    def _usage(self) -> str:
        usage = " ".join(self.format_usage().split())
        return f"Usage: {usage.removeprefix('usage: ')}"


def cell_parser() -> Parser:
    """Return the parser of `%%distributed [RANKS] [--cluster NAME] [--no-wait] [--timeout S] [--by-rank]`."""
    parser = Parser(prog=CELL, description="Runs the cell on ranks.")
    parser.add_argument("ranks", nargs="?", default="", metavar="RANKS", help="0 or 0,2-3; default: all")
    parser.add_argument("--cluster", metavar="NAME", help="run on this cluster instead of the notebook's")
    parser.add_argument("--timeout", type=float, metavar="S", help="interrupt the cell after S seconds")
    parser.add_argument("--no-wait", action="store_true", help=f"return at once; show it later: %{LINE} wait")
    parser.add_argument("--by-rank", action="store_true", help="show the output of each rank in a block")
    return parser


def parse(parser: Parser, line: str) -> argparse.Namespace:
    """Parse a magic's line.

    Args:
        parser: Parser of the magic.
        line: The text after the magic's name.

    Raises:
        BadRequest: An unknown option, a missing value, or an unclosed quote.
        HelpAsked: The user asks for help.
    """
    if not line.strip() and not parser.commands:  # most cells
        return argparse.Namespace(**parser.defaults)
    try:
        words: Sequence[str] = shlex.split(line, comments=True)
    except ValueError as error:
        raise BadRequest(f"{parser.prog}: {error}.", "Check the quotes.") from error
    # "%distributed start ?", as after any name in a notebook
    return parser.read(["--help" if word in ("?", "??") else word for word in words])
