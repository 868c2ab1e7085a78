"""Public functions document their arguments, what they return, and what they raise."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3] / "dtrain_lab"
SHORT = 8
"""Lines of code up to which a sentence that names each argument suffices."""
SECTION = re.compile(r"^(?:Args|Returns|Yields|Raises):", re.MULTILINE)
REFERENCE = re.compile(r"arguments (?:are|as)\b")
VERBS = ("get", "post", "put", "patch", "delete")
Functions = (ast.FunctionDef, ast.AsyncFunctionDef)


class Public(NamedTuple):
    """A public function, or a public method of a public class."""

    place: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: ast.ClassDef | None

    @property
    def doc(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def args(self) -> tuple[str, ...]:
        a = self.node.args
        static = any(ast.unparse(d) == "staticmethod" for d in self.node.decorator_list)
        names = [one.arg for one in (*a.posonlyargs, *a.args)][self.owner is not None and not static :]
        names += [one.arg for one in (*a.kwonlyargs, a.vararg, a.kwarg) if one is not None]
        return tuple(name for name in names if not name.startswith("_"))

    @property
    def is_override(self) -> bool:
        """Whether it replaces a library's method: it calls that, or tornado calls it for a URL."""
        if self.owner is None:
            return False
        calls_super = f"super().{self.node.name}(" in ast.unparse(self.node)
        return calls_super or (self.owner.name.endswith("Handler") and self.node.name in VERBS)


def public() -> Iterator[Public]:
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            inner = node.body if isinstance(node, ast.ClassDef) else [node]
            owner = node if isinstance(node, ast.ClassDef) else None
            if owner is not None and owner.name.startswith("_"):
                continue
            for each in inner:
                if isinstance(each, Functions) and not each.name.startswith("_"):
                    yield Public(f"{path.relative_to(ROOT)}:{each.lineno} {each.name}", each, owner)


def raises(node: ast.AST, caught: frozenset[str] = frozenset()) -> bool:
    """Whether a function raises a new error that it doesn't catch itself; functions inside it don't count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*Functions, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(child, ast.Raise) and child.exc is not None:
            kind = child.exc.func if isinstance(child.exc, ast.Call) else child.exc
            if ast.unparse(kind) not in caught:
                return True
        if isinstance(child, ast.Try):
            kinds = re.findall(r"[\w.]+", " ".join(ast.unparse(h.type) for h in child.handlers if h.type))
            inside = ast.Module(child.body, [])
            others = ast.Module([*child.handlers, *child.orelse, *child.finalbody], [])
            if raises(inside, caught | frozenset(kinds)) or raises(others, caught):
                return True
        elif raises(child, caught):
            return True
    return False


def is_named(function: Public) -> bool:
    """Whether the function is short, and the text before all sections names each argument."""
    code = [line for line in ast.unparse(function.node).splitlines() if line.strip()]
    lines = len(code) - len(ast.unparse(function.node.body[0]).splitlines()) if function.doc else len(code)
    text = SECTION.split(function.doc)[0]
    return lines <= SHORT + 1 and all(re.search(rf"\b{re.escape(name)}\b", text) for name in function.args)


def is_command(function: Public) -> bool:
    """Whether click or IPython calls it, whose options are documented by their help."""
    return any(
        re.search(r"\b(?:command|group)\b|_magic\b", ast.unparse(d)) for d in function.node.decorator_list
    )


@pytest.fixture(scope="module")
def functions() -> list[Public]:
    found = [f for f in public() if not is_command(f) and not f.is_override]
    assert len(found) > 1500
    return found


def test_arguments_are_documented(functions: list[Public]) -> None:
    """A public function with two arguments or more, beside `self`, has a section `Args:`.

    It needs none if it is at most 8 lines long and its sentence names each argument; if it refers to the
    arguments of another function; if one of the same name and the same arguments has it, as a method of
    a Protocol or of a base class has for those that implement it; or if it replaces a library's method.
    """
    known = defaultdict(bool)
    for f in functions:
        known[f.node.name, f.args] |= f.owner is not None and "Args:" in f.doc
    assert [
        f.place
        for f in functions
        if len(f.args) > 1
        and not ("Args:" in f.doc or (f.owner is not None and known[f.node.name, f.args]))
        and not REFERENCE.search(f.doc)
        and not is_named(f)
    ] == []


def test_sections_name_arguments_that_exist(functions: list[Public]) -> None:
    wrong = []
    for f in functions:
        _, has, section = f.doc.partition("Args:\n")
        section = SECTION.split(section)[0]
        entries = re.findall(r"^ {4}(\w[\w*, ]*|\*\*?\w+):", section, re.MULTILINE)
        named = set(re.findall(r"\w+", " ".join(entries)))
        if has and (named - set(f.args) or len(named) < len(f.args)):
            wrong.append(f"{f.place}: {named.symmetric_difference(f.args)}")
    assert wrong == []


def test_errors_are_documented(functions: list[Public]) -> None:
    """A public function that raises an error has a section `Raises:`, or implements a method that has it."""
    known = defaultdict(bool)
    for f in functions:
        known[f.node.name, f.args] |= f.owner is not None and "Raises:" in f.doc
    assert [
        f.place
        for f in functions
        if raises(f.node) and not ("Raises:" in f.doc or (f.owner is not None and known[f.node.name, f.args]))
    ] == []


def test_parts_of_a_tuple_are_documented(functions: list[Public]) -> None:
    """A function that returns a tuple of several parts names them: "the id, and …", or in `Returns:`."""
    assert [
        f.place
        for f in functions
        if f.node.returns is not None
        and re.match(r"tuple\[.*,(?! \.\.\.\])", ast.unparse(f.node.returns))
        and f.doc
        and not ("Returns:" in f.doc or re.search(r"\band\b", f.doc))
    ] == []
