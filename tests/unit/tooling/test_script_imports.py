"""Scripts beside the package, which no type checker reads, import names that exist: `make demo` first."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPTS = [
    path for folder in ("notebooks", "gallery", "matrix") for path in sorted((ROOT / folder).rglob("*.py"))
]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_script_imports_of_the_package_exists(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dtrain_lab"):
            module = importlib.import_module(str(node.module))
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or importlib.import_module(f"{node.module}.{name}")
