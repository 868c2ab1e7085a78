"""A cell that runs on ranks (`%%distributed`) in a job."""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize

from dtrain_lab.cells import cell_options, rank_sets
from dtrain_lab.errors import BadRankSet, DtrainError
from dtrain_lab.jobs.notebook.conversion import Conversion, begun
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.wire.jobs.finding import Finding

ANY_SIZE = 1 << 20
"""World size for parsing rank sets: the job's size is unknown when the notebook is converted."""


def in_script(conversion: Conversion, name: str, arguments: str, text: str, line: int) -> str:
    """Return a cell on ranks as a script has it; problems are added to `conversion`.

    Args:
        conversion: The conversion of the cell.
        name: Name of the magic, "distributed" or "px".
        arguments: Its arguments.
        text: The converted cell below it.
        line: Its line number.
    """
    if name == "px":
        return "\n" + text
    try:
        options = cell_options.parse(cell_options.cell_parser(), arguments)
        _tell_options(conversion, options, line)
        chosen = options.ranks
        if chosen in ("", "all"):
            return "\n" + text
        members = rank_sets.parse(chosen, ANY_SIZE)
    except DtrainError as error:
        conversion.problem(
            "rank_set" if isinstance(error, BadRankSet) else "magic", line, error.message, error.hint
        )
        return "\n" + text
    except cell_options.HelpAsked:
        conversion.note("magic_dropped", line, "%%distributed --help shows help, and its cell doesn't run.")
        return ""
    nothing = "" if _has_statements(text) else " pass"
    return f"if rank in ({', '.join(map(str, members))},):{nothing}\n{_indented(text)}"


def _tell_options(conversion: Conversion, options: argparse.Namespace, line: int) -> None:
    """Say which options have no effect in a job; `--by-rank` changes only how output looks in a notebook."""
    left = "is left out:"
    if options.cluster is not None:
        text = f"--cluster {options.cluster} {left} the cell runs on the job's own ranks."
        conversion.warning("option_dropped", line, text)
    if options.timeout is not None:
        text = f"--timeout {options.timeout:g} {left} a job interrupts no cell."
        conversion.warning(
            "option_dropped", line, text, "Limit the time of the whole job instead, if it may hang."
        )
    if options.no_wait:
        text = f"--no-wait {left} a job runs its cells one after the other, and waits for each."
        conversion.note("option_dropped", line, text)


def ranks_missing(cell: Cell, size: int) -> Finding | None:
    """Return a problem if a cell runs on ranks that a job of this size doesn't have.

    The conversion reports what is no rank set.

    Args:
        cell: A cell that runs in the job.
        size: Number of the job's ranks.
    """
    blank, text = begun(cell.source)
    match = re.match(r"%%distributed[ \t]+(.+)$", text.partition("\n")[0])
    if match is None:
        return None
    try:
        rank_sets.parse(cell_options.parse(cell_options.cell_parser(), match[1]).ranks, size)
    except BadRankSet as error:
        if error.code == rank_sets.NO_SUCH_RANK:
            return Finding("problem", "rank_set", error.message, error.hint, cell.name, blank + 1)
    except (DtrainError, cell_options.HelpAsked):  # the conversion reports it
        return None
    return None


def _has_statements(text: str) -> bool:
    """Whether a text contains more than comments; True if it isn't Python."""
    try:
        return bool(ast.parse(text).body)
    except (SyntaxError, ValueError):
        return True


def _indented(text: str) -> str:
    """Indent text, except lines that begin inside a string, whose value would change."""
    inside: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.STRING, *_PARTS) and token.end[0] > token.start[0]:
                inside |= set(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, IndentationError):  # reported as a syntax error of the cell
        pass
    lines = text.split("\n")
    return "\n".join(
        line if index in inside or not line.strip() else f"    {line}"
        for index, line in enumerate(lines, start=1)
    )


_PARTS = (getattr(tokenize, "FSTRING_MIDDLE", -1), getattr(tokenize, "TSTRING_MIDDLE", -1))
