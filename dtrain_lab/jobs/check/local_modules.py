"""Files of a notebook's project that its cells import, and whether these files use torch."""

from __future__ import annotations

import ast
import posixpath
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from msgspec import Struct

from dtrain_lab.jobs.check.known_packages import PLAIN
from dtrain_lab.jobs.check.parsed_cells import Parsed, last
from dtrain_lab.jobs.check.search_paths import search
from dtrain_lab.jobs.notebook.process_group import is_import
from dtrain_lab.placement.frameworks import names

MOST_FILES = 200
Read = Callable[[str], str | None]
"""Returns the text of a file by its path in the notebook's folder; None if it does not exist."""
TORCH = frozenset({*names.MODULES["torch"], "torch_npu", "torchaudio", "torchtext", "transformers"})


class Module(Struct, frozen=True):
    """A file that a notebook imports.

    Attributes:
        path: in the notebook's folder.
        name: as a module, with dots.
        source: its text.
        cell: cell that imports it, directly or not.
        line: line of that cell.
    """

    path: str
    name: str
    source: str
    cell: str
    line: int

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return _tree(self.source)

    @property
    def parsed(self) -> Parsed:
        """The file in the form that checks of cells take; findings name the file."""
        return Parsed(None, self.source, self.tree, self.path)

    @property
    def package(self) -> str:
        """The package that relative imports are relative to."""
        return self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]


def modules(parsed: Sequence[Parsed], read: Read) -> tuple[Module, ...]:
    """Find the files that cells import or %run, and those that these import in turn.

    Args:
        parsed: the cells that run.
        read: reads files of the notebook's folder.
    """
    read = cache(read)
    folders = ("", *search(parsed).folders)
    while True:  # files add folders, too
        imported_files = _imported_modules(parsed, folders, read)
        more = ("", *search([*parsed, *(file.parsed for file in imported_files)]).folders)
        if more == folders:
            return imported_files
        folders = more


def _imported_modules(parsed: Sequence[Parsed], folders: Sequence[str], read: Read) -> tuple[Module, ...]:
    by_path: dict[str, Module] = {}
    waiting = [(_asked(code.tree), "", code.name, 0) for code in parsed]
    while waiting:
        asked, package, cell, line = waiting.pop(0)
        for path, name, at in _wanted(asked, package, folders, read):
            if path in by_path or len(by_path) >= MOST_FILES or not _is_inside(path):
                continue
            source = read(path)
            if source is None or not _parses(source):
                continue
            by_path[path] = Module(path, name, source, cell, line or at)
            waiting.append((_facts(source).asked, by_path[path].package, cell, line or at))
    return tuple(by_path.values())


def torch_text(
    parsed: Sequence[Parsed], files: Sequence[Module], imported: Mapping[str, tuple[str, int]]
) -> str | None:
    """Return the text of a notebook's files if the notebook's imports show that it trains with torch.

    They do if a file imports torch or a library built on it, or if any cell or file imports a package that
    is neither known nor in `PLAIN` (packages without torch): it may be the user's own.

    Args:
        parsed: the cells that run.
        files: files that they import.
        imported: modules that cells and files import, as `imported` returns them.

    Returns:
        The text, which may be empty; None for a notebook that doesn't train with torch.
    """
    anywhere = {name for code in parsed for name in _tops(ast.walk(code.tree))}
    anywhere = anywhere.union(*(_facts(file.source).anywhere for file in files))
    own_modules = {file.name.split(".")[0] for file in files}
    framework = names.imported(imported)
    without_torch = (
        sys.stdlib_module_names | PLAIN | own_modules | {m for of in names.MODULES.values() for m in of}
    )
    unknown = framework is None and any(name not in without_torch for name in imported)
    if not (anywhere & TORCH or unknown):
        return None
    return "\n".join(file.source for file in files)


def imported(cells: Mapping[str, tuple[str, int]], files: Sequence[Module]) -> dict[str, tuple[str, int]]:
    """Merge the modules that files import into those that cells import.

    Args:
        cells: module → cell and line.
        files: files that the cells import.

    Returns:
        Module → cell and line of the import that leads to it.
    """
    places = dict(cells)
    for file in files:
        for name in _facts(file.source).at_once:
            places.setdefault(name, (file.cell, file.line))
    return places


def at_once(tree: ast.AST, *, surely: bool = False) -> Iterator[ast.AST]:
    """Yield the nodes outside `try` and functions: those that run whenever the cell or file does.

    Args:
        tree: syntax tree of a cell or a file.
        surely: whether nodes below conditions are excluded, too.
    """
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Try | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if surely and _is_conditional(child):
            continue
        yield child
        yield from at_once(child, surely=surely)


def _is_conditional(node: ast.AST) -> bool:
    """Whether the statement's body may never run, or may fail without harm."""
    match node:
        case ast.If(ast.Constant(value)):
            return not value
        case ast.If(test):  # `if rank == 0:` holds on some rank
            tested = {inner.id for inner in ast.walk(test) if isinstance(inner, ast.Name)}
            return not tested <= {"rank", "local_rank", "__name__"}
        case ast.IfExp() | ast.While() | ast.Match():
            return True
        case ast.With(items):
            calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
            return any(last(call.func) == "suppress" for call in calls)
    return False


def imported_by(node: ast.AST) -> list[str]:
    """Return the absolute names of modules that a statement, or `importlib.import_module`, imports."""
    match node:
        case ast.Import(aliases):
            return [alias.name for alias in aliases]
        case ast.ImportFrom(str(module), _, 0 | None):
            return [module]
        case ast.Call(func=func, args=[ast.Constant(str(module))]) if last(func) == "import_module":
            return [module]
    return []


def absolute(module: str | None, level: int, package: str) -> str:
    """Return the absolute name of the module that an import names.

    Args:
        module: its name in the import statement.
        level: number of dots before it.
        package: the package to which relative imports are relative.
    """
    if not level:
        return module or ""
    base = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*base, *([module] if module else [])])


# ----


def _tops(nodes: Iterator[ast.AST]) -> Iterator[str]:
    for node in nodes:
        yield from (name.split(".")[0] for name in imported_by(node))


class _Ask(Struct, frozen=True):
    """An import, or a %run of the file `path`."""

    line: int
    module: str | None = None
    level: int = 0
    names: tuple[str, ...] = ()
    path: str = ""


class _Facts(Struct, frozen=True):
    """What a file imports; `anywhere` and `at_once` are top-level modules."""

    asked: tuple[_Ask, ...]
    anywhere: frozenset[str]
    at_once: tuple[str, ...]


@lru_cache(maxsize=512)
def _facts(source: str) -> _Facts:
    tree = _tree(source)
    asks = _asked(tree)
    anywhere = {ask.module.split(".")[0] for ask in asks if ask.module and not ask.level}
    return _Facts(asks, frozenset(anywhere), tuple(dict.fromkeys(_tops(at_once(tree)))))


def _asked(tree: ast.AST) -> tuple[_Ask, ...]:
    asks = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(aliases):
                asks += [_Ask(node.lineno, alias.name) for alias in aliases]
            case ast.ImportFrom(module, aliases, level):
                names_ = tuple(alias.name for alias in aliases)
                asks.append(_Ask(node.lineno, module, level or 0, names_))
            case ast.Call(func=func, args=[ast.Constant(str(module))]) if is_import(func):
                asks.append(_Ask(node.lineno, module))
            case ast.Call(func=ast.Name("_run_file"), args=[ast.Constant(str(path)), *_]):
                asks.append(_Ask(node.lineno, path=posixpath.normpath(path)))
            case ast.Call(func=ast.Name("exec"), args=[code, *_]):
                paths = [path for inner in ast.walk(code) if (path := _opened(inner))]
                asks += [_Ask(node.lineno, path=posixpath.normpath(path)) for path in paths]
    return tuple(asks)


def _opened(node: ast.AST) -> str:
    """Return the path of a file that an expression opens; "" if it opens none, or not by a literal path."""
    match node:
        case ast.Call(func=func, args=[ast.Constant(str(path)), *_]) if last(func) in ("open", "Path"):
            return path
    return ""


def _wanted(
    asked: Sequence[_Ask], package: str, folders: Sequence[str], read: Read
) -> Iterator[tuple[str, str, int]]:
    """Yield path, module and line of the files that are imported or run."""
    for ask in asked:
        if ask.path:
            yield ask.path, "", ask.line
            continue
        base = absolute(ask.module, ask.level, package)
        for name in (base, *(f"{base}.{name}".strip(".") for name in ask.names)):
            yield from ((path, module, ask.line) for path, module in _files(name, folders, read))


def _is_inside(path: str) -> bool:
    """Whether a normal path stays in the notebook's folder."""
    return not path.startswith("/") and path.split("/")[0] != ".."


def _files(name: str, folders: Sequence[str], read: Read) -> Iterator[tuple[str, str]]:
    """Yield the files that an import runs: those of its parent packages, and the module."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        stem, module = "/".join(parts[:count]), ".".join(parts[:count])
        for folder in folders:
            for path in (f"{stem}/__init__.py", f"{stem}.py"):
                there = posixpath.normpath(posixpath.join(folder, path))
                if _is_inside(there) and read(there) is not None:
                    yield there, module
                    break


@lru_cache(maxsize=256)
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def _parses(source: str) -> bool:
    try:
        _tree(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
