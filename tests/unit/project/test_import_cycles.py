"""No module imports one that imports it, counting late imports and those for types only."""

from __future__ import annotations

import os
import re
from graphlib import CycleError, TopologicalSorter

from tests.unit.import_graph import ROOT, imports


def test_no_module_imports_one_that_imports_it() -> None:
    graph = imports()
    assert len(graph) > 500
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = " -> ".join(error.args[1])
        raise AssertionError(f"{cycle}: name what is needed in a Protocol, or move it below both") from None


FOLDERS_LEFT = {
    frozenset({"api", "api/cluster"}),
    frozenset({"cli", "cli/adapter"}),
    frozenset({"head", "head/cells", "head/metrics", "head/lifetime", "head/nodes", "head/ownership"}),
    frozenset({"node", "node/sources"}),
    frozenset({"rank", "rank/cells", "rank/frameworks", "rank/job", "rank/link", "rank/output"}),
    frozenset({"rank/monitor", "rank/monitor/checks"}),
    frozenset({"server", "server/routes"}),
    frozenset({"training", "training/gradients"}),
    frozenset({"training/inference", "training/inference/results"}),
    frozenset(
        {"wire", "wire/clients", "wire/codec", "wire/jobs", "wire/links", "wire/metrics", "wire/processes"}
    ),
}
"""Folders that import one another in a circle. The list may only get shorter."""


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of nodes that reach one another, of two or more nodes."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        rest = [start]
        while rest:
            new = graph.get(rest.pop(), set()) - seen
            seen |= new
            rest += new
        return seen

    beyond = {node: reached(node) for node in graph}
    found = {
        frozenset({node} | {other for other in there if node in beyond.get(other, set())})
        for node, there in beyond.items()
    }
    return {one for one in found if len(one) > 1}


def test_no_more_folders_import_one_another_in_a_circle() -> None:
    modules = imports()

    def folder(module: str) -> str:
        path = module.replace(".", "/")
        inner = path if (ROOT / path).is_dir() else path.rpartition("/")[0]
        return inner.removeprefix("dtrain_lab").removeprefix("/")

    graph: dict[str, set[str]] = {}
    for module, others in modules.items():
        graph.setdefault(folder(module), set()).update(folder(other) for other in others)
    del graph[""]  # the package itself, whose names are loaded when they are asked for
    graph = {name: others - {name, ""} for name, others in graph.items()}
    assert circles(graph) == FOLDERS_LEFT


_IMPORT = re.compile(r"""(?:\bfrom\s+|\bimport\s*\(?\s*)['"](\.[^'"]*)['"]""")


def page_files() -> dict[str, set[str]]:
    """Return, by file of src/ without its suffix, the files that it imports; without tests."""
    files = [path for path in (ROOT / "src").rglob("*.ts*") if ".spec." not in path.name]
    graph: dict[str, set[str]] = {}
    for path in files:
        name = path.relative_to(ROOT / "src").with_suffix("")
        found = _IMPORT.findall(path.read_text())
        graph[str(name)] = {os.path.normpath(f"{name.parent}/{other}") for other in found}
    return graph


def page_folders() -> dict[str, set[str]]:
    """Return, by folder of src/, the folders that it imports from; without tests and files at the root."""
    graph: dict[str, set[str]] = {}
    for name, others in page_files().items():
        folder = os.path.dirname(name)
        graph.setdefault(folder, set()).update({os.path.dirname(other) for other in others} - {folder, ""})
    del graph[""]
    return graph


def test_no_file_of_the_page_imports_one_that_imports_it() -> None:
    graph = page_files()
    assert len(graph) > 200
    assert circles(graph) == set(), "move what both need into one of them, or into a third"


def test_no_folder_of_the_page_imports_one_that_imports_it() -> None:
    graph = page_folders()
    assert len(graph) > 30
    assert circles(graph) == set(), "move what both need into a folder below both, such as model/"
