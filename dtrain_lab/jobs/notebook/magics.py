"""Conversion of IPython syntax (magics, `!`, `?`) to plain Python; line numbers don't change.

IPython's own transformer finds the syntax (never inside a string) and turns it into calls of `get_ipython()`;
each of these calls is then replaced in the text by an equivalent for a script.
"""

from __future__ import annotations

import ast
import io
import re
import shlex
import tokenize
from functools import cache

from IPython.core.inputtransformer2 import TransformerManager
from msgspec import Struct

from dtrain_lab.cells import rank_sets
from dtrain_lab.errors import DtrainError
from dtrain_lab.jobs.notebook.awaits import without_awaits
from dtrain_lab.jobs.notebook.conversion import NOTHING, Conversion
from dtrain_lab.jobs.notebook.line_magics import line_magic, system
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.wire.jobs.finding import Finding

ANY_SIZE = 1 << 20
"""World size for parsing rank sets: the job's size is unknown when the notebook is converted."""
BODY_ONLY = frozenset(("time", "capture", "prun"))
SHELLS = frozenset(("bash", "sh", "script", "system", "sx", "!"))
PAGES = frozenset(["html", "HTML", "latex", "markdown", "javascript", "js", "svg", "SVG"])


class Converted(Struct, frozen=True):
    """A cell as plain Python, with the same number of lines.

    `installs`: arguments of its `pip install` lines. `helpers`: functions of the preamble that it needs.
    """

    source: str
    findings: tuple[Finding, ...] = ()
    installs: tuple[str, ...] = ()
    helpers: frozenset[str] = frozenset()


def convert_cell(cell: Cell) -> Converted:
    """Convert a cell to plain Python.

    Args:
        cell: a cell that runs in the job.

    Returns:
        The converted cell; its findings have a problem, with its line, for what can't be converted.
    """
    made = Conversion(cell)
    text = _cell_magic(made, cell.source)
    awaited = without_awaits(text)
    if awaited.changed:
        made.helpers.add("run")
    for line, kind in awaited.left:
        made.problem(
            "async",
            line,
            f"{kind} outside a function can't be converted.",
            "Put it into an async function and await that.",
        )
    text = awaited.source
    return Converted(text, tuple(made.findings), tuple(made.installs), frozenset(made.helpers))


def _cell_magic(made: Conversion, source: str) -> str:
    """Convert a cell; a `%%` line, if it has one, becomes its equivalent in a script."""
    blank = len(source) - len(source.lstrip("\n"))
    first, _, body = source[blank:].partition("\n")
    match = re.match(r"%%(\S+)\s*(.*)$", first)
    if match is None:
        return _lines(made, source, 1)
    name, arguments = match[1], match[2].strip()
    line = blank + 1
    before = "\n" * blank
    if name in ("distributed", "px"):
        return before + _distributed(made, name, arguments, body, line)
    if name in BODY_ONLY:
        made.note("magic_dropped", line, f"%%{name} is left out; its cell runs.")
        return before + "\n" + _lines(made, body, line + 1)
    if name in SHELLS:
        made.helpers.add("shell")
        made.note("once_per_node", line, f"%%{name} runs once on each node.")
        return before + f"_shell({body!r}, globals())"
    if name == "writefile":
        words = shlex.split(arguments)
        files = [word for word in words if not word.startswith("-")]
        made.helpers.add("write_file")
        made.note("once_per_node", line, "%%writefile writes once on each node.")
        return before + f"_write_file({(files or [''])[-1]!r}, {body!r}, append={'-a' in words})"
    if name in PAGES:
        made.note("magic_dropped", line, f"%%{name} is shown in notebooks only.")
        return before
    made.problem(
        "magic",
        line,
        f"%%{name} can't run in a job.",
        f'Write it as Python, or tag the cell "{"skip-in-job"}".',
    )
    return before


def _distributed(made: Conversion, name: str, arguments: str, body: str, line: int) -> str:
    words = shlex.split(arguments) if name == "distributed" else []
    chosen = ""
    skip = False
    for word in words:
        if skip or word.startswith("-"):
            skip = word in ("--cluster", "--timeout") and not skip
            continue
        chosen = word
    text = _lines(made, body, line + 1)
    if not chosen:
        return "\n" + text
    try:
        members = rank_sets.parse(chosen, ANY_SIZE)
    except DtrainError as error:
        made.problem("rank_set", line, error.message, error.hint)
        return "\n" + text
    inner = text if text.strip() else "pass"
    return f"if rank in ({', '.join(map(str, members))},):\n{_indented(inner)}"


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


@cache
def _transformer() -> TransformerManager:
    return TransformerManager()


def _lines(made: Conversion, source: str, first: int) -> str:
    """Replace line magics, `!` and `?`. `first`: line number of the text's first line, as the user counts."""
    blank = len(source) - len(source.lstrip("\n"))
    try:
        plain = "\n" * blank + _transformer().transform_cell(source[blank:])
        tree = compile(plain, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        message = getattr(error, "msg", str(error))
        made.problem("syntax_error", first - 1 + line, f"SyntaxError: {message}", "Mend the cell.")
        return source
    if "get_ipython()" not in plain:
        # the transformer has changed nothing except the line break at the end
        return source
    edits: list[tuple[ast.AST, str]] = []
    lines = source.split("\n")
    for statement, node in _shell_calls(tree):
        text = _replacement(made, node, statement, first - 1 + node.lineno)
        if statement and text == NOTHING:
            text = f"pass  # {lines[node.lineno - 1].strip()}"
        edits.append((node, text))
    return _edited(plain, edits).rstrip("\n")


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


def _replacement(made: Conversion, node: ast.Call, statement: bool, line: int) -> str:
    assert isinstance(node.func, ast.Attribute)
    words = [a.value if isinstance(a, ast.Constant) else None for a in node.args]
    if any(not isinstance(word, str) for word in words):
        return made.problem(
            "get_ipython",
            line,
            "get_ipython() is not there in a job.",
            "Write it without the notebook's shell.",
        )
    texts = [str(word) for word in words]
    method = node.func.attr
    if method in ("system", "getoutput"):
        return system(made, texts[0], line, captures=method == "getoutput")
    if method == "run_line_magic":
        return line_magic(made, texts[0], texts[1] if len(texts) > 1 else "", statement, line)
    return made.problem(
        "get_ipython",
        line,
        f"get_ipython().{method} is not there in a job.",
        "Write it without the notebook's shell.",
    )


def _edited(source: str, edits: list[tuple[ast.AST, str]]) -> str:
    """Replace nodes by text, the last one first; columns are bytes. Removed lines are kept as empty lines."""
    lines = source.split("\n")
    for node, text in sorted(edits, key=lambda e: (e[0].lineno, e[0].col_offset), reverse=True):  # type: ignore[attr-defined]
        assert isinstance(node, ast.expr)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = lines[node.lineno - 1].encode(), lines[node.end_lineno - 1].encode()
        joined = first[: node.col_offset] + text.encode() + last[node.end_col_offset :]
        gone = node.end_lineno - node.lineno
        lines[node.lineno - 1 : node.end_lineno] = [joined.decode(), *[""] * gone]
    return "\n".join(lines)
