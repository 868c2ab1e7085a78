"""Breakpoint conditions per rank: `rank` in a condition is replaced by the rank's number.

A condition thus works in any frame, even if the frame has no variable `rank`.
"""

from __future__ import annotations

import ast
import re

from dtrain_lab.debugger.state import Breakpoint, Dap
from dtrain_lab.errors import BadRequest

COUNTER = "__import__('dtrain_lab.rank.debugger.conditions', fromlist=['hit']).hit"
"""Counts hits in the condition itself: pydevd stops when either its count or its condition is met, and its
count goes on from one run of a cell to the next."""
NUMBER, SIGN = r"(?:0|[1-9][0-9]*)", "==|!=|<=|>=|<|>"
HIT_COUNT = re.compile(
    rf"(?:{SIGN})?\s*{NUMBER}|%\s*(?P<divisor>{NUMBER})(?:\s*(?P<sign>{SIGN})\s*(?P<remainder>{NUMBER}))?"
)

MESSAGE_LINE = 2
"""Line of the message in a breakpoint's condition; the tests are in the first line.

The line of an error tells which of them has failed.
"""

Comprehension = ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp


def given(point: Dap) -> Breakpoint:
    """Return a breakpoint of a `setBreakpoints` request, with the conditions that our panel gives it again.

    JupyterLab itself knows only lines. A new kernel learns conditions in no other way.
    """
    condition, hit, log = (str(point.get(key) or "") for key in ("condition", "hitCondition", "logMessage"))
    return Breakpoint(point["line"], condition, hit, log)


def check(point: Breakpoint) -> None:
    """Check a breakpoint before it is sent to ranks.

    Raises:
        BadRequest: the condition, hit count or log text can't be parsed.
    """
    for label, field, text in (
        ("condition", "condition", point.condition),
        ("log text", "log", _log_call(point.log)),
    ):
        if not text:
            continue
        try:
            ast.parse(text, mode="eval")
        except SyntaxError as error:
            raise BadRequest(
                f"The {label} can't be read: {error.msg}.",
                "Write a Python expression, such as: rank == 3 and loss.isnan()"
                if label == "condition"
                else "Write text with expressions in braces, such as: loss is {loss.item():.3f}",
                code=f"unreadable_{field}",
            ) from error
    if point.hit and not _is_hit_count(point.hit):
        hint = 'Write "3", ">= 3", or "% 10 == 0".'
        raise BadRequest(f'"{point.hit}" is not a hit count.', hint, code="unreadable_hit")


def _is_hit_count(text: str) -> bool:
    """Whether a text is a hit count that some pass can meet: "3", ">= 3", "% 10", "% 10 == 0"."""
    match = HIT_COUNT.fullmatch(text.strip())
    if match is None:
        return False
    divisor, sign, remainder = match["divisor"], match["sign"], match["remainder"]
    if divisor is None:
        return True
    return int(divisor) > 0 and (sign != "==" or int(remainder) < int(divisor))


def for_rank(point: Breakpoint, path: str, rank: int) -> dict[str, object]:
    """Return a breakpoint in DAP's form for one rank's debugger.

    Args:
        point: The breakpoint, as the user set it.
        path: Of its file or cell.
        rank: Number that replaces `rank` in its condition and its log text.
    """
    tests = []
    if point.condition:
        tests.append(_with_rank(point.condition, rank))
    if point.hit:  # of the passes in which the condition is true
        tests.append(_count_test(point, path))
    if point.log:
        # the rank prints it, so that it is part of the cell's output; `print` returns None, so it never stops
        tests.append(f"\n{_with_rank(_log_call(point.log), rank)}")
    if not tests:
        return {"line": point.line}
    condition = " and ".join(f"({test})" for test in tests) if len(tests) > 1 or point.log else tests[0]
    return {"line": point.line, "condition": condition}


def _count_test(point: Breakpoint, path: str) -> str:
    """The test of the hit count: "3", ">= 3", "% 10 == 0", "% 10"."""
    count = point.hit.strip()
    counted = f"{COUNTER}({f'{path}:{point.line} {point.condition} {count}'!r})"
    if count.isdigit():
        return f"{counted} == {count}"
    compared = any(sign in count for sign in "<>=")
    return f"{counted} {count}" if compared else f"{counted} {count} == 0"


def _log_call(text: str) -> str:
    return f"print(f{text!r})" if text else ""


class _Numbered(ast.NodeTransformer):
    def __init__(self, rank: int) -> None:
        self.rank = rank

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replace `rank` by its number."""
        if node.id == "rank" and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant(self.rank), node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Skip a lambda with its own parameter `rank`."""
        args = node.args
        arguments = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        if any(a is not None and a.arg == "rank" for a in arguments):
            return node
        return self.generic_visit(node)

    def _comprehension(self, node: Comprehension) -> ast.AST:
        """Leave a comprehension's own `rank` alone."""
        names = [name for generator in node.generators for name in ast.walk(generator.target)]
        if not any(isinstance(name, ast.Name) and name.id == "rank" for name in names):
            return self.generic_visit(node)
        # only the first iterable is evaluated outside of the comprehension's scope
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        return node

    visit_GeneratorExp = visit_ListComp = visit_SetComp = visit_DictComp = _comprehension


def _with_rank(text: str, rank: int) -> str:
    tree = ast.parse(text, mode="eval")
    return ast.unparse(ast.fix_missing_locations(_Numbered(rank).visit(tree)))
