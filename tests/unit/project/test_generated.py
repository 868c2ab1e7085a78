"""Generated files are those that the types give."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dtrain_lab.server import openapi
from dtrain_lab.server.routes import handlers
from dtrain_lab.wire import kinds
from dtrain_lab.wire.metrics import thresholds

ROOT = Path(__file__).parents[3]
METHODS = ("get", "post", "put", "patch", "delete")


PINNED = re.search(r"^msgspec==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)


@pytest.mark.skipif(
    PINNED is None or msgspec.__version__ != PINNED[1], reason="another msgspec writes another schema"
)
def test_the_openapi_file_is_not_stale() -> None:
    assert (ROOT / "docs" / "openapi.json").read_text() == openapi.text(), "run: make types"


def test_the_page_tells_figures_apart_as_python_does() -> None:
    assert (ROOT / "src" / "api" / "thresholds.ts").read_text() == thresholds.typescript(), "run: make types"


def test_the_page_knows_the_states_in_which_something_has_ended() -> None:
    assert (ROOT / "src" / "api" / "states.ts").read_text() == kinds.typescript(), "run: make types"


def test_every_route_is_described() -> None:
    described = {(operation.method, operation.path) for operation in openapi.OPERATIONS}
    there = {(method, path) for _, methods, paths in routes() for method in methods for path in paths}
    assert described == there


def test_every_query_argument_is_described() -> None:
    for handler, methods, paths in routes():
        for method, function in methods.items():
            source = inspect.getsource(function)
            read = set(re.findall(r'self\.(?:get_query_argument|number|flag)\(\s*"(\w+)"', source))
            described = {
                name
                for operation in openapi.OPERATIONS
                if operation.method == method and operation.path in paths
                for name in operation.query
            }
            assert described == read, (handler.__name__, method)


def test_every_body_is_described_as_a_request() -> None:
    """What a request may leave out is not required of it."""
    described = {(operation.method, operation.path): operation.body for operation in openapi.OPERATIONS}
    schemas = openapi.describe()["components"]["schemas"]
    for handler, methods, paths in routes():
        for method, function in methods.items():
            read = re.search(r"self\.(?:body|request_of)\((\w+)\)", inspect.getsource(function))
            for path in paths:
                body = described[method, path]
                assert (body.__name__ if body else None) == (read[1] if read else None), handler.__name__
                if body:
                    needed = {f.encode_name for f in msgspec.structs.fields(body) if f.required}
                    assert set(schemas[body.__name__].get("required", ())) == needed, body


def routes() -> Iterator[tuple[type, dict[str, Any], list[str]]]:
    """Each handler with its methods, and its paths as OpenAPI writes them."""
    for pattern, handler in handlers():
        path = pattern.removeprefix("/dtrain-lab")
        choices = re.search(r"\(\?P<action>([^)]*)\)", path)
        paths = []
        for action in choices[1].split("|") if choices else [""]:
            plain = re.sub(r"\(\?P<action>[^)]*\)", action, path)
            paths.append(re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", plain))
        yield handler, {m: handler.__dict__[m] for m in METHODS if m in handler.__dict__}, paths
