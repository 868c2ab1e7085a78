"""Check for code that only works on this machine: local files, fixed devices and sizes, keyboard input."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence

from dtrain_lab.jobs.check.parsed_cells import Parsed, dotted, last
from dtrain_lab.wire.jobs.finding import Finding

READERS = frozenset((
    "open", "read_csv", "read_parquet", "read_json", "read_excel", "read_table", "read_pickle", "load",
    "_run_file", "loadtxt", "genfromtxt", "imread", "ImageFolder", "load_from_disk", "read_text",
    "read_bytes",
    "load_file", "safe_open", "memmap",
))  # fmt: skip
WRITES = re.compile(r"^[rbt+]*[wax]")
HOME = re.compile(r"^(~|/home/|/Users/|/root/|[A-Za-z]:\\)")
STORE = re.compile(r"^(s3[an]?|gs|gcs|az|abfss?|wasbs?|adl|hdfs|oss|obs|cos)://")
ADDRESS = re.compile(rf"{STORE.pattern}|^~/.|^/home/.|^/Users/.|^/root/.|^[A-Za-z]:\\.")
"""An address of an object store, or a path of a home folder, anywhere in the code."""
NO_USE = frozenset((
    "print", "display", "startswith", "removeprefix", "replace", "split", "match", "fullmatch", "compile",
    "debug", "info", "warning", "error", "log", "fail",
))  # fmt: skip
"""Calls that don't use a path that they are given."""


def files(
    parsed: Sequence[Parsed], packed: Collection[str], *, shared: bool, absent: Collection[str] = ()
) -> list[Finding]:
    """Find files that are read and may be missing on the nodes.

    Args:
        parsed: the cells that run.
        packed: files that are copied with the job, relative to the notebook.
        shared: whether the nodes can read the notebook's own folder.
        absent: paths of `read_only` that do not exist on this machine.
    """
    findings: list[Finding] = [
        code.finding(
            "warning",
            "file_missing",
            f"{path} does not exist.",
            "Correct the path, or make the file before the job starts.",
            node,
        )
        for code in parsed
        for node, path in _paths(code, writing=False)
        if shared and path in absent
    ]
    written = {path for code in parsed for _, path in _paths(code, writing=True)}
    for code in parsed:
        for node, path in _paths(code, writing=False):
            finding = _judge(code, node, path, packed, written, shared=shared)
            if finding is not None:
                findings.append(finding)
    reported = {(id(code), path) for code in parsed for _, path in _paths(code, writing=False)}
    for code in parsed:
        for node, path in _addresses(code.tree):
            finding = _judge(code, node, path, packed, written, shared=shared)
            if finding is not None and (id(code), path) not in reported:
                reported.add((id(code), path))
                findings.append(finding)
    return findings


def read_only(parsed: Sequence[Parsed]) -> set[str]:
    """Return paths of files that the notebook reads and names nowhere else.

    A file that it names once more is perhaps downloaded, written or tested for. A text without a suffix may
    be the name of a model.
    """
    paths = {
        path
        for code in parsed
        for _, path in _paths(code, writing=False)
        if posixpath.splitext(path)[1] and not (STORE.match(path) or "://" in path or path.startswith("~"))
    }
    texts = [
        node.value
        for code in parsed
        for node in ast.walk(code.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return {path for path in paths if sum(posixpath.basename(path) in text for text in texts) == 1}


def _addresses(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield addresses of object stores and paths of home folders, but not in messages and comparisons."""
    for child in ast.iter_child_nodes(tree):
        match child:
            case ast.Expr(ast.Constant()) | ast.Compare():
                continue
            case ast.Call(func=func) if last(func) in NO_USE:
                continue
            case ast.Constant(str(text)) if ADDRESS.match(text):
                yield child, text
            case _:
                yield from _addresses(child)


def _judge(
    code: Parsed, node: ast.AST, path: str, packed: Collection[str], written: Collection[str], *, shared: bool
) -> Finding | None:
    if STORE.match(path):
        return code.finding(
            "note",
            "object_store",
            f"{path.split('://')[0]}:// needs credentials on the nodes; yours are not passed to the job.",
            "Let [environment] setup of the profile provide them.",
            node,
        )
    if HOME.match(path):
        if shared:
            return None
        return code.finding(
            "warning",
            "home_path",
            f"{path} is in a home folder, which the nodes may not have.",
            "Use a path that all nodes share, or one relative to the notebook.",
            node,
        )
    plain = posixpath.normpath(path)
    if plain.startswith("/") or "://" in path or shared:
        return None
    there = plain in packed or plain in written or any(p.startswith(plain + "/") for p in packed)
    if there:
        return None
    return code.finding(
        "warning",
        "file_left_behind",
        f"{path} is not copied with the job.",
        "Put it into the notebook's folder, below the size limit, or where all nodes can read it.",
        node,
    )


def _paths(code: Parsed, *, writing: bool) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(code.tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = last(node.func)
        mode = _text(node.args[1]) if name == "open" and len(node.args) > 1 else ""
        mode = next((_text(k.value) for k in node.keywords if k.arg == "mode"), mode)
        writes = (
            bool(WRITES.match(mode)) if name == "open" else name in ("save", "to_csv", "_write_file", "savez")
        )
        path = _text(node.args[1] if name == "save" and len(node.args) > 1 else node.args[0])
        if path and writes == writing and (writes or name in READERS):
            yield node, path


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Call) and last(node.func) == "Path" and node.args:
        return _text(node.args[0])
    return ""


def habits(parsed: Sequence[Parsed]) -> list[Finding]:
    """Find code that needs one machine and a person at its keyboard."""
    return [finding for code in parsed for node in ast.walk(code.tree) if (finding := _habit(code, node))]


def _habit(code: Parsed, node: ast.AST) -> Finding | None:
    if isinstance(node, ast.Call):
        name = dotted(node.func)
        if name in ("input", "getpass", "getpass.getpass"):
            return code.finding(
                "problem",
                "input",
                f"{name}() waits for keyboard input, which a job doesn't have.",
                "Use a parameter.",
                node,
            )
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            text = _text(argument)
            if re.fullmatch(r"cuda:\d+", text):
                return code.finding(
                    "warning",
                    "fixed_device",
                    f'"{text}" is one GPU; each rank has its own.',
                    "Use the variable device.",
                    argument,
                )
        if name.endswith("cuda") and node.args and isinstance(node.args[0], ast.Constant):
            return code.finding(
                "warning", "fixed_device", "This is one GPU; each rank has its own.", "Use .to(device).", node
            )
        for keyword in node.keywords:
            if keyword.arg in ("world_size", "nprocs", "num_replicas") and isinstance(
                keyword.value, ast.Constant
            ):
                return code.finding(
                    "warning",
                    "fixed_size",
                    f"{keyword.arg}={ast.unparse(keyword.value)} is hard-coded; the job sets its ranks.",
                    "Use the variable world_size.",
                    keyword.value,
                )
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Call):
        names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        if "world_size" in names and isinstance(node.value, ast.Constant):
            return code.finding(
                "warning",
                "fixed_size",
                f"world_size = {ast.unparse(node.value)} is hard-coded; the job sets its ranks.",
                "Leave the line out: every rank has world_size.",
                node,
            )
        counted = isinstance(node.value, ast.Call) and dotted(node.value.func).endswith("cuda.device_count")
        if counted and names:
            return code.finding(
                "warning",
                "device_count",
                "torch.cuda.device_count() counts one node's GPUs, not the ranks of the job.",
                "Use world_size where the number of ranks is meant.",
                node,
            )
    return None
