"""Line magics and shell commands of a notebook, as Python of a script."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from dtrain_lab.jobs.notebook.conversion import NOTHING, Conversion

SILENT = frozenset((
    "matplotlib", "reload_ext", "autoreload", "config", "pylab", "who", "whos", "who_ls", "precision",
    "xmode", "colors", "pdb", "pinfo", "pinfo2", "psource", "pdoc", "pfile", "history", "hist",
    "logstart", "logstop", "lsmagic", "magic", "quickref", "page", "pprint", "doctest_mode", "gui",
    "load_ext", "unload_ext", "alias_magic", "automagic", "connect_info", "prun", "lprun", "memit",
    "mprun", "rehashx", "notebook",
))  # fmt: skip
"""Line magics that only have a meaning in an interactive shell."""


def system(conversion: Conversion, command: str, line: int, *, captures: bool) -> str:
    """Convert `!command`.

    Args:
        conversion: The conversion, which collects helpers and findings.
        command: The text after the exclamation mark.
        line: The line in the cell, from 1.
        captures: Its output is assigned to a name.

    Returns:
        The expression that replaces it.
    """
    installed = re.match(r"(?:\S*python\S*\s+-m\s+)?pip3?\s+install\s+(.*)", command.strip())
    if installed and not captures:
        return _install(conversion, installed[1], line)
    conversion.helpers.add("shell")
    if captures:
        return f"_shell({conversion.expanded(command)}, captures=True)"
    conversion.note("once_per_node", line, f"!{command.strip()[:40]} runs once on each node.")
    return f"_shell({conversion.expanded(command)})"


def _install(conversion: Conversion, arguments: str, line: int) -> str:
    conversion.installs.append(arguments.strip())
    conversion.note(
        "install",
        line,
        f"pip install {arguments.strip()} is not run in the job: install it in the job's environment.",
    )
    return NOTHING


def line_magic(conversion: Conversion, name: str, arguments: str, statement: bool, line: int) -> str:
    """Convert a line magic.

    Args:
        conversion: The conversion, which collects helpers and findings.
        name: Name of the magic, without `%`.
        arguments: The text after the name.
        statement: Its value is not used.
        line: The line in the cell, from 1.

    Returns:
        The expression that replaces it.
    """
    convert = _MAGICS.get(name)
    if convert is not None:
        return convert(conversion, arguments.strip(), statement, line)
    if name in SILENT:
        return NOTHING
    return conversion.problem(
        "magic", line, f"%{name} can't run in a job.", 'Write it as Python, or tag the cell "skip-in-job".'
    )


def _pip(conversion: Conversion, arguments: str, statement: bool, line: int) -> str:
    command, _, rest = arguments.partition(" ")
    return _install(conversion, rest, line) if command == "install" else NOTHING


def _time(conversion: Conversion, arguments: str, statement: bool, line: int) -> str:
    code = re.sub(r"^(-\S+\s+)*", "", arguments)
    try:
        compile(code, "magic", "exec" if statement else "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return conversion.problem(
            "magic", line, "%time with this code can't be converted.", "Write it without %time."
        )
    return code or NOTHING


def _timeit(conversion: Conversion, arguments: str, statement: bool, line: int) -> str:
    conversion.note("magic_dropped", line, "%timeit is left out.")
    return NOTHING


def _env(conversion: Conversion, arguments: str, statement: bool, line: int) -> str:
    name, sep, value = arguments.partition("=")
    if not sep:
        name, sep, value = arguments.partition(" ")
    if not sep:
        return f'__import__("os").environ.get({conversion.expanded(arguments)})' if arguments else NOTHING
    name, value = conversion.expanded(name.strip()), conversion.expanded(value.strip())
    return f'__import__("os").environ.__setitem__({name}, {value})'


def _cd(conversion: Conversion, arguments: str, statement: bool, line: int) -> str:
    folder = conversion.argument(re.sub(r"^-q(\s+|$)", "", arguments), line) or "~"
    if folder.startswith("-"):  # the folder before, one of many before, a bookmark
        return conversion.problem("magic", line, f"%cd {arguments} can't be converted.", "Name the folder.")
    folder = conversion.expanded(folder)
    return f'__import__("os").chdir(__import__("os").path.expanduser({folder}))'


def _run(conversion: Conversion, arguments: str, statement: bool, line: int) -> str:
    words = conversion.words(arguments, line)
    if words is None:
        return NOTHING
    inside = words[:1] == ["-i"]
    file, *rest = words[1:] if inside else words or [""]
    if not file.endswith(".py") or any("$" in word or "{" in word for word in words):
        return conversion.problem(
            "magic", line, f"%run {arguments} can't be converted.", "Import the module instead."
        )
    conversion.helpers.add("run_file")
    return f"_run_file({file!r}, {rest!r}, inside={inside})"


def _commands(conversion: Conversion, arguments: str, statement: bool, line: int) -> str:
    command = arguments.split(" ")[0]
    if command == "pull":
        return conversion.problem(
            "pull",
            line,
            "%distributed pull copies values of ranks to a notebook's kernel, and a job has no kernel.",
            'Use the values on the ranks, or tag the cell "skip-in-job".',
        )
    conversion.note(
        "cluster_command", line, f"%distributed {command} is left out: the job has its own ranks."
    )
    return NOTHING


def _load(conversion: Conversion, arguments: str, statement: bool, line: int) -> str:
    conversion.note("magic_dropped", line, f"%load_ext {arguments} is left out.")
    return NOTHING


_MAGICS: dict[str, Callable[[Conversion, str, bool, int], str]] = {
    "pip": _pip,
    "conda": _pip,
    "mamba": _pip,
    "uv": lambda made, arguments, s, line: _pip(made, arguments.removeprefix("pip "), s, line),
    "time": _time,
    "timeit": _timeit,
    "env": _env,
    "set_env": _env,
    "cd": _cd,
    "run": _run,
    "distributed": _commands,
    "load_ext": _load,
    "sx": lambda made, arguments, s, line: system(made, arguments, line, captures=True),
    "system": lambda made, arguments, s, line: system(made, arguments, line, captures=True),
    "pwd": lambda made, arguments, s, line: '__import__("os").getcwd()',
}
