"""All checks of a notebook combined, and the modules that it imports."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dtrain_lab.jobs.check import (
    checkpoints,
    frameworks,
    launchers,
    parameter_values,
    parameters,
    portability,
    training,
    undefined_names,
)
from dtrain_lab.jobs.check.local_modules import Module, at_once, imported, imported_by
from dtrain_lab.jobs.check.parsed_cells import Parsed, parse
from dtrain_lab.jobs.check.search_paths import search
from dtrain_lab.jobs.notebook.rank_cells import ranks_missing
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.kinds import Severity

ORDER = {"problem": 0, "warning": 1, "note": 2}


class CheckContext(Struct, frozen=True):
    """Facts about the job and the notebook's environment.

    Attributes:
        ranks: number of the job's ranks.
        ranks_per_node: ranks per node; 0 if unknown.
        kernel: names that the running kernel defines; None if there is no kernel.
        missing: modules that the job's environment lacks.
        files: files of the notebook's folder that are copied with the job, as relative paths.
        shared: whether the nodes can read the notebook's own folder.
        absent: files that the notebook reads and that do not exist.
        parameters: values of the parameters given at submission.
        framework: the framework of the job.
        modules: files of the notebook's folder that it imports.
    """

    ranks: int = 1
    ranks_per_node: int = 0
    kernel: frozenset[str] | None = None
    missing: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    shared: bool = False
    absent: frozenset[str] = frozenset()
    parameters: Mapping[str, Any] = {}
    framework: frameworks.Chosen = frameworks.Chosen()
    modules: tuple[Module, ...] = ()


def check(cells: Sequence[Cell], around: CheckContext) -> tuple[Finding, ...]:
    """Run all checks on a notebook.

    Args:
        cells: cells of the notebook.
        around: facts about the job and the environment.

    Returns:
        Findings: problems first, then warnings, then notes, each in the notebook's order.
    """
    parsed = running(cells)
    of_torch = [
        *training.apart(parsed, around.ranks),
        *training.samplers(parsed, around.ranks),
        *launchers.sizes(parsed, around.ranks, around.ranks_per_node),
    ]
    given = {name: (value,) for name, value in around.parameters.items()}
    findings = [
        *_ranks(cells, around.ranks),
        *parameter_values.mismatches(parameter_values.usual(cells), given, "parameters"),
        *parameters.unknown(cells, around.parameters, "parameters"),
        *undefined_names.undefined(
            parsed,
            around.kernel,
            around.parameters,
            torch=around.framework.name == "torch",
            unparsed=_unparsed(cells),
        ),
        *_missing(parsed, around),
        *portability.files(parsed, around.files, shared=around.shared, absent=around.absent),
        *portability.habits(parsed),
        *checkpoints.never_loaded(parsed, [file.parsed for file in around.modules]),
        *(of_torch if around.framework.name == "torch" else []),
        *frameworks.check(parsed, around.framework, imported(imports(cells), around.modules), around.modules),
    ]
    return in_order(cells, findings)


def in_order(cells: Sequence[Cell], findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings with problems first, then warnings, then notes, each in the notebook's order.

    Args:
        cells: cells of the notebook.
        findings: findings of its check and of its conversion.
    """
    places = {cell.name: index for index, cell in enumerate(cells)}
    return tuple(
        sorted(findings, key=lambda f: (ORDER[f.severity], places.get(f.cell or "", -1), f.line or 0))
    )


def _unparsed(cells: Sequence[Cell]) -> list[tuple[int, Cell]]:
    """Return the cells that run and can't be parsed, each with the number of parsed ones before it."""
    unparsed, before = [], 0
    for cell in cells:
        if cell.runs and parse(cell) is None:
            unparsed.append((before, cell))
        elif cell.runs:
            before += 1
    return unparsed


def _ranks(cells: Sequence[Cell], size: int) -> list[Finding]:
    """Find cells for ranks that the job doesn't have; the conversion reports those that are no rank set."""
    findings = [ranks_missing(cell, size) for cell in cells if cell.runs]
    return [finding for finding in findings if finding is not None]


def running(cells: Sequence[Cell]) -> list[Parsed]:
    """Parse the cells that run, those that are Python."""
    return [code for cell in cells if cell.runs and (code := parse(cell)) is not None]


def imports(cells: Sequence[Cell], *, surely: bool = False) -> dict[str, tuple[str, int]]:
    """Find the top-level modules that a notebook imports.

    Left out are imports inside `try` (the notebook works without the module) or a function (which may never
    be called), and modules that the notebook writes itself.

    Args:
        cells: cells of the notebook.
        surely: whether imports below conditions are left out, too.

    Returns:
        Module → cell and line of its first import.
    """
    places: dict[str, tuple[str, int]] = {}
    parsed = running(cells)
    written = {name for code in parsed for name in _written(code.tree)}
    for code in parsed:
        for node in at_once(code.tree, surely=surely):
            for module in (name.split(".")[0] for name in imported_by(node)):
                if module not in written:
                    places.setdefault(module, (code.name, node.lineno))  # type: ignore[attr-defined]
    return places


def _written(tree: ast.AST) -> Iterator[str]:
    """Yield the modules that a cell writes with %%writefile."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("_write_file"), args=[ast.Constant(str(path)), *_]):
                yield posixpath.normpath(path).split("/")[0].removesuffix(".py")


def _missing(parsed: Sequence[Parsed], around: CheckContext) -> list[Finding]:
    """Find imports of modules that are neither in the environment nor, as far as can be read, a file."""
    if not around.missing:
        return []
    cells = [code.cell for code in parsed if code.cell is not None]
    wanted, sure = imports(cells), imports(cells, surely=True)
    unread = search([*parsed, *(file.parsed for file in around.modules)]).unread
    findings = []
    for module in sorted(around.missing & wanted.keys()):
        message = f"The job's environment has no {module}."
        fix = f"install it in the job's environment: pip install {module}"
        if module not in sure:
            message += " Its import is conditional."
            fix = f"If the job meets the condition, {fix}"
        elif unread:
            message += (
                " It may be in a folder that this notebook puts on sys.path, or changes to, which can't "
            )
            message += "be read here."
            fix = f"If no such folder has {module}, {fix}"
        else:
            fix = fix[0].upper() + fix[1:]
        severity: Severity = "warning" if unread or module not in sure else "problem"
        findings.append(Finding(severity, "module_missing", message, fix, *sure.get(module, wanted[module])))
    return findings
