"""The change from `nn.DataParallel`, which is one process, to DDP."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from dtrain_lab.jobs.check.parsed_cells import Parsed, last

IMPORT = "from torch.nn.parallel import DistributedDataParallel"
MOVED = re.compile(r"\.(to|cuda)\([^()]*\)$")


def call(code: Parsed) -> ast.Call | None:
    """Return the call that wraps a model in DataParallel, if a cell has one."""
    calls = (node for node in ast.walk(code.tree) if isinstance(node, ast.Call) and node.args)
    return next((node for node in calls if last(node.func) == "DataParallel"), None)


def replaced(code: Parsed, lines: Sequence[str], wraps: ast.Call) -> list[str]:
    """Replace DataParallel by DDP. A condition on the number of GPUs around it is removed.

    Args:
        code: the cell.
        lines: the lines of its source.
        wraps: the call of DataParallel.

    Returns:
        The changed lines.
    """
    new_lines = list(lines)
    model = ast.unparse(wraps.args[0])
    model = model if MOVED.search(model) else f"{model}.to(device)"
    first, end = wraps.lineno - 1, (wraps.end_lineno or wraps.lineno) - 1
    # columns of the tree count bytes
    head = new_lines[first].encode()[: wraps.col_offset].decode()
    tail = new_lines[end].encode()[wraps.end_col_offset :].decode()
    blank = [""] * (end - first)  # removed below, so that line numbers hold until then
    new_lines[first : end + 1] = [f"{head}DistributedDataParallel({model}){tail}", *blank]
    gone = set(range(first + 1, end + 1))
    outer = next(s for s in code.tree.body if s.lineno <= wraps.lineno <= (s.end_lineno or s.lineno))
    start = outer.lineno - 1
    if isinstance(outer, ast.If) and not outer.orelse and "device_count" in ast.unparse(outer.test):
        body = outer.body[0]
        if body.lineno == outer.lineno:
            new_lines[start] = new_lines[start].encode()[body.col_offset :].decode()
        else:
            gone |= set(range(start, body.lineno - 1))
            for at in range(body.lineno - 1, outer.end_lineno or outer.lineno):
                new_lines[at] = new_lines[at].removeprefix(" " * body.col_offset)
    changed: list[str] = []
    for at, line in enumerate(new_lines):
        if at == start:
            changed.append(IMPORT)
        if at not in gone:
            changed.append(line)
    return changed
