"""Conversion of IPython syntax (magics, `!`, `?`) to plain Python; line numbers don't change.

IPython's own transformer finds the syntax (never inside a string) and turns it into calls of `get_ipython()`;
each of these calls is then replaced in the text by an equivalent for a script.
"""

from __future__ import annotations
import __future__

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from dtrain_lab.jobs.notebook.conversion import NOTHING, Conversion, begun, edited
from dtrain_lab.jobs.notebook.line_magics import line_magic, system
from dtrain_lab.jobs.notebook.rank_cells import in_script
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.jobs.notebook.top_level_await import without_awaits
from dtrain_lab.wire.jobs.finding import Finding, problems

if TYPE_CHECKING:
    from IPython.core.inputtransformer2 import TransformerManager

BODY_ONLY = frozenset(("time", "capture", "prun"))
SCRIPTS = frozenset(("bash", "sh", "script"))
SHELLS = frozenset(("system", "sx", "!"))
PAGES = frozenset(["html", "HTML", "latex", "markdown", "javascript", "js", "svg", "SVG"])


class Converted(Struct, frozen=True):
    """A cell as plain Python, with the same number of lines.

    `installs`: arguments of its `pip install` lines. `helpers`: functions of the preamble that it needs.
    `futures`: names that it imports from `__future__`; a script has to import them at its beginning.
    """

    source: str
    findings: tuple[Finding, ...] = ()
    installs: tuple[str, ...] = ()
    helpers: frozenset[str] = frozenset()
    futures: tuple[str, ...] = ()


def convert_cell(cell: Cell) -> Converted:
    """Convert a cell to plain Python.

    Args:
        cell: a cell that runs in the job.

    Returns:
        The converted cell; its findings include a problem, with its line, for code that can't be converted.
    """
    conversion = Conversion(cell)
    text = _cell_magic(conversion, cell.source)
    awaited = without_awaits(text)
    if awaited.changed:
        conversion.helpers.add("run")
    for line, kind in awaited.left:
        conversion.problem(
            "async",
            line,
            f"{kind} outside a function can't be converted.",
            "Put it into an async function and await that.",
        )
    text = awaited.source
    if not problems(tuple(conversion.findings)):
        try:
            compile(text, "cell", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            _not_python(conversion, error, 1)
    return Converted(
        text,
        tuple(conversion.findings),
        tuple(conversion.installs),
        frozenset(conversion.helpers),
        tuple(conversion.futures),
    )


def _not_python(conversion: Conversion, error: SyntaxError | ValueError, first: int) -> None:
    """Report a cell that isn't Python. `first`: line number of the compiled text's first line."""
    line = getattr(error, "lineno", None) or 1
    message = getattr(error, "msg", str(error))
    conversion.problem(
        "syntax_error", first - 1 + line, f"SyntaxError: {message.rstrip('.')}.", "Correct the cell."
    )


def _cell_magic(conversion: Conversion, source: str) -> str:
    """Convert a cell; a `%%` line, if it has one, becomes its equivalent in a script."""
    blank, rest = begun(source)
    first, _, body = rest.partition("\n")
    match = re.match(r"%%(\S+)\s*(.*)$", first)
    if match is None:
        return _lines(conversion, source, 1)
    name, arguments = match[1], match[2].strip()
    line = blank + 1
    before = "\n" * blank
    text = body if body.endswith("\n") or not body else f"{body}\n"  # as IPython hands it on
    if name in ("distributed", "px"):
        return before + in_script(conversion, name, arguments, _lines(conversion, body, line + 1), line)
    if name in BODY_ONLY:
        conversion.note("magic_dropped", line, f"%%{name} is left out; its cell runs.")
        return before + "\n" + _lines(conversion, body, line + 1)
    if name in SCRIPTS:
        return before + _script(conversion, name, arguments, text, line)
    if name in SHELLS:
        conversion.helpers.add("shell")
        conversion.note("once_per_node", line, f"%%{name} runs once on each node.")
        return before + f"_shell({conversion.expanded(body)})"
    if name == "writefile":
        file, appends = re.subn(r"(?<!\S)(-a|--append)(?!\S)", "", arguments)
        path = conversion.expanded(conversion.argument(file.strip(), line))
        conversion.helpers.add("write_file")
        conversion.note("once_per_node", line, "%%writefile writes once on each node.")
        return before + f"_write_file({path}, {text!r}, append={appends > 0})"
    if name in PAGES:
        conversion.note("magic_dropped", line, f"%%{name} is shown in notebooks only.")
        return before
    conversion.problem(
        "magic",
        line,
        f"%%{name} can't run in a job.",
        f'Write it as Python, or tag the cell "{"skip-in-job"}".',
    )
    return before


def _script(conversion: Conversion, name: str, arguments: str, body: str, line: int) -> str:
    """Convert a cell that is passed to a program; IPython expands nothing below its first line."""
    command, quiet = re.subn(r"(?<!\S)--no-raise-error(?!\S)", "", arguments)
    command = (command if name == "script" else f"{name} {command}").strip()
    words = conversion.words(command, line)
    if words is None:
        return NOTHING
    unknown = [word for word in words if word.partition("=")[0] in ("--bg", "--out", "--err", "--proc")]
    if unknown or not words:
        magic = f"%%{name} {unknown[0]}" if unknown else "%%script without a program"
        return conversion.problem("magic", line, f"{magic} can't be converted.", "Write it as Python.")
    conversion.helpers.add("script")
    conversion.note("once_per_node", line, f"%%{name} runs once on each node.")
    more = ", raises=False" if quiet else ""
    return f"_script({conversion.expanded(command)}, {body!r}{more})"


@cache
def _transformer() -> TransformerManager:
    """IPython's transformer, which joins the lines of a magic; later lines keep their numbers here."""
    # imported when a notebook is read, as in `cells.syntax`
    from IPython.core.inputtransformer2 import TransformerManager

    class Transformer(TransformerManager):  # type: ignore[misc]
        def do_one_token_transform(self, lines: list[str]) -> tuple[bool, list[str]]:
            changed, lines_after = super().do_one_token_transform(lines)
            gone = len(lines) - len(lines_after)
            if gone > 0:
                joined = next(
                    at for at, (old, new) in enumerate(zip(lines, lines_after, strict=False)) if old != new
                )
                lines_after[joined + 1 : joined + 1] = ["\n"] * gone
            return changed, lines_after

    return Transformer()


def _lines(conversion: Conversion, source: str, first: int) -> str:
    """Replace line magics, `!` and `?`. `first`: line number of the text's first line, as the user counts."""
    blank, rest = begun(source)
    try:
        plain = "\n" * blank + _transformer().transform_cell(rest)
        tree = compile(plain, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError) as error:
        _not_python(conversion, error, first)
        return source
    if "get_ipython()" not in plain:
        # the transformer has changed nothing except the line break at the end
        return _without_futures(conversion, source)
    edits: list[tuple[ast.AST, str]] = []
    lines = source.split("\n")
    for statement, node in _shell_calls(tree):
        text = _replacement(conversion, node, statement, first - 1 + node.lineno)
        if statement and text == NOTHING:
            text = f"pass  # {lines[node.lineno - 1].strip()}"
        edits.append((node, text))
    return _without_futures(conversion, edited(plain, edits).rstrip("\n"))


def _without_futures(conversion: Conversion, source: str) -> str:
    """Remove imports from `__future__`, which a script needs at its very beginning."""
    if "__future__" not in source:
        return source
    futures: list[ast.stmt] = []
    for at, node in enumerate(ast.parse(source).body):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            names = [alias.name for alias in node.names]
            if not set(names) <= set(__future__.all_feature_names):
                break  # the cell is wrong, and reports it
            conversion.futures += names
            futures.append(node)
        elif at or not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            break
    return edited(source, [(node, "pass") for node in futures])


def _shell_calls(tree: ast.AST) -> list[tuple[bool, ast.Call]]:
    """Find calls of the shell's methods; True if the call is a statement of its own."""
    statements = {id(s.value) for s in ast.walk(tree) if isinstance(s, ast.Expr)}
    return [
        (id(node) in statements, node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Call)
        and isinstance(node.func.value.func, ast.Name)
        and node.func.value.func.id == "get_ipython"
    ]


def _replacement(conversion: Conversion, node: ast.Call, statement: bool, line: int) -> str:
    assert isinstance(node.func, ast.Attribute)
    words = [a.value if isinstance(a, ast.Constant) else None for a in node.args]
    if any(not isinstance(word, str) for word in words):
        return conversion.problem(
            "get_ipython",
            line,
            "get_ipython() is not available in a job.",
            "Write it without the notebook's shell.",
        )
    texts = [str(word) for word in words]
    method = node.func.attr
    if method in ("system", "getoutput"):
        return system(conversion, texts[0], line, captures=method == "getoutput")
    if method == "run_line_magic":
        return line_magic(conversion, texts[0], texts[1] if len(texts) > 1 else "", statement, line)
    return conversion.problem(
        "get_ipython",
        line,
        f"get_ipython().{method} is not available in a job.",
        "Write it without the notebook's shell.",
    )
