"""Folders that a notebook puts on `sys.path`, or changes to, as far as its code can be read. Pure."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from dtrain_lab.jobs.check.parsed_cells import Parsed, dotted, last

ROOT = "/\0notebook"
"""Placeholder for the notebook's folder in a path."""
ABSOLUTE = frozenset(("abspath", "realpath", "resolve", "absolute"))
SAME = frozenset(("Path", "PosixPath", "PurePath", "str", "fspath", "normpath", "expanduser", "as_posix"))
"""Calls that return the path that they are given."""
HARMLESS = frozenset(("remove", "pop", "index", "count", "copy", "clear"))


class Search(Struct, frozen=True):
    """Folders in which imports search.

    Attributes:
        folders: those inside the notebook's folder, as relative paths.
        unread: whether there may be others: one that can't be derived from the code, or is outside.
    """

    folders: tuple[str, ...] = ()
    unread: bool = False


def search(parsed: Sequence[Parsed]) -> Search:
    """Return the folders that cells and files add, in order.

    Args:
        parsed: the cells that run, and files that they import.
    """
    if not any(word in code.source for code in parsed for word in ("path", "chdir", "addsitedir", "modules")):
        return Search()
    reader = _Reader()
    for code in parsed:
        reader.read(code)
    return Search(tuple(dict.fromkeys(reader.folders)), reader.unread)


# ----


class _Reader:
    """Follows the working directory and names of paths through the code."""

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.unread = False
        self._cwd = ROOT
        self._names: dict[str, str | None] = {}
        self._path = {"sys.path"}
        """Names that refer to `sys.path`."""

    def read(self, code: Parsed) -> None:
        if code.cell is None:
            self._names = {**self._names, "__file__": posixpath.join(ROOT, code.file)}
        nodes = [node for node in ast.walk(code.tree) if isinstance(node, ast.stmt | ast.Call)]
        for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
            self._follow(node)

    def _follow(self, node: ast.AST) -> None:
        match node:
            case ast.Import(aliases):
                self._path |= {f"{a.asname}.path" for a in aliases if a.name == "sys" and a.asname}
            case ast.ImportFrom("sys", aliases):
                self._path |= {a.asname or a.name for a in aliases if a.name == "path"}
            case ast.Assign([ast.Name(name)], value):
                self._names[name] = self._text(value)
            case ast.Assign(targets, value) if any(map(self._is_path, targets)):
                self._add(self._parts(value))
            case ast.Assign([ast.Subscript(inner), *_]) if dotted(inner) == "sys.modules":
                self.unread = True
            case ast.AugAssign(target, _, value) if self._is_path(target):
                self._add(self._parts(value))
            case ast.Call(func, args):
                self._called(func, args)

    def _called(self, func: ast.expr, args: Sequence[ast.expr]) -> None:
        name = last(func)
        if name == "chdir":
            self._add(args[:1])
            there = self._absolute(args[0]) if args else None
            self._cwd = there or self._cwd
        elif name == "addsitedir":
            self._add(args[:1])
        elif isinstance(func, ast.Attribute) and self._is_path(func.value) and name not in HARMLESS:
            if name in ("append", "insert"):
                self._add(args[-1:])
            else:
                self._add(part for argument in args for part in self._parts(argument))

    def _is_path(self, node: ast.expr) -> bool:
        return dotted(node.value if isinstance(node, ast.Subscript) else node) in self._path

    def _parts(self, value: ast.expr) -> Iterator[ast.expr]:
        """Yield the folders of a list; previous contents of `sys.path` in it are skipped."""
        match value:
            case ast.List(parts) | ast.Tuple(parts):
                for part in parts:
                    yield from self._parts(part.value) if isinstance(part, ast.Starred) else [part]
            case ast.BinOp(left, ast.Add(), right):
                yield from self._parts(left)
                yield from self._parts(right)
            case _ if not self._is_path(value):
                yield value

    def _add(self, parts: Iterable[ast.expr]) -> None:
        for part in parts:
            there = self._absolute(part)
            if there is None or not (there == ROOT or there.startswith(f"{ROOT}/")):
                self.unread = True
            else:
                self.folders.append(posixpath.normpath(there[len(ROOT) + 1 :] or "."))

    def _absolute(self, node: ast.expr) -> str | None:
        text = self._text(node)
        return None if text is None else posixpath.normpath(posixpath.join(self._cwd, text))

    def _text(self, node: ast.expr) -> str | None:
        """Return the path that an expression evaluates to; None if that can't be derived."""
        match node:
            case ast.Constant(str(text)):
                readable = text[:1] not in ("~", "-") and not set("${") & set(text)  # as %cd takes them
                return text if readable else None
            case ast.Name(name):
                return self._names.get(name)
            case ast.FormattedValue(value):
                return self._text(value)
            case ast.JoinedStr(values):
                return _together(map(self._text, values), "".join)
            case ast.BinOp(left, ast.Div(), right):
                return _together(map(self._text, (left, right)), lambda both: posixpath.join(*both))
            case ast.BinOp(left, ast.Add(), right):
                return _together(map(self._text, (left, right)), "".join)
            case ast.Attribute(value, "parent"):
                above = self._absolute(value)
                return None if above is None else posixpath.dirname(above)
            case ast.Attribute():
                return {"os.curdir": ".", "os.pardir": "..", "os.sep": "/"}.get(dotted(node))
            case ast.Call(func, args):
                return self._result(func, args)
        return None

    def _result(self, func: ast.expr, args: Sequence[ast.expr]) -> str | None:
        name = last(func)
        if name in ("getcwd", "cwd"):
            return self._cwd
        if name == "Path" and not args:
            return "."
        if name == "joinpath" and isinstance(func, ast.Attribute):
            args = [func.value, *args]
        elif not args and isinstance(func, ast.Attribute):
            args = [func.value]  # a method
        if not args or name not in SAME | ABSOLUTE | {"join", "joinpath", "dirname"}:
            return None
        path = _together(map(self._text, args), lambda parts: posixpath.join(*parts))
        if path is None or name in SAME | {"join", "joinpath"}:
            return path
        whole = posixpath.normpath(posixpath.join(self._cwd, path))
        return whole if name in ABSOLUTE else posixpath.dirname(path)


def _together(parts: Iterable[str | None], joined: Callable[[list[str]], str]) -> str | None:
    """Join parts; None if one of them can't be read."""
    parts_or_none = list(parts)
    literal = [part for part in parts_or_none if part is not None]
    return joined(literal) if len(literal) == len(parts_or_none) else None
