"""Generates the OpenAPI description of the routes from the types of their requests and answers.

`python -m dtrain_lab.server.openapi FILE THRESHOLDS STATES` writes it, the thresholds of `wire.metrics` and
the sets of states of `wire.kinds`; `npm run types` generates the TypeScript types from it. A test fails if
one of the files is stale.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from dtrain_lab._version import __version__
from dtrain_lab.debugger.compare_values import AcrossRow
from dtrain_lab.debugger.view import DebugView
from dtrain_lab.debugger.visible_names import Only
from dtrain_lab.server.operations import NUMBERS, OPERATIONS, Operation
from dtrain_lab.wire import kinds
from dtrain_lab.wire.metrics import thresholds
from dtrain_lab.wire.site import Error

DEBUGGER = (DebugView, AcrossRow, Only)
"""Types that the notebook's panel receives from the kernel's debugger, not from a route."""
REF = "#/components/schemas/{name}"
BODIES = frozenset(operation.body.__name__ for operation in OPERATIONS if operation.body is not None)
"""Names of the types that requests consist of; some are answers as well."""


def describe() -> dict[str, Any]:
    """Return the complete OpenAPI description."""
    types = [t for o in OPERATIONS for t in (o.answer, o.body, o.begun) if t is not None] + [Error, *DEBUGGER]
    schemas, components = msgspec.json.schema_components(types, ref_template=REF)
    by_type = {str(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "dtrain-lab", "version": __version__, "license": {"name": "BSD-3-Clause"}},
        "servers": [{"url": "/dtrain-lab"}],
        "paths": paths,
        "components": {"schemas": {name: _all_present(schema) for name, schema in components.items()}},
    }


def _operation(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": {"type": "integer" if name in NUMBERS else "string"},
        }
        for name in operation.query
    ]
    if "{identity}" in operation.path:
        parameters.insert(
            0, {"name": "identity", "in": "path", "required": True, "schema": {"type": "string"}}
        )
    described: dict[str, Any] = {
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            str(operation.code): _content(
                "Done." if operation.code == 200 else "Begun.", schemas[str(operation.answer)]
            ),
            "default": _content("An error.", schemas[str(Error)]),
        },
    }
    if operation.begun is not None:
        described["responses"]["202"] = _content("Begun.", schemas[str(operation.begun)])
    for kind in operation.files:
        described["responses"][str(operation.code)]["content"][kind] = {"schema": {"type": "string"}}
    if operation.body is not None:
        described["requestBody"] = {"content": {"application/json": {"schema": schemas[str(operation.body)]}}}
    return described


def _content(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _all_present(schema: dict[str, Any]) -> dict[str, Any]:
    """Mark all fields of an answer as required: answers include defaults, requests may omit them."""
    schema = _open_dicts(schema)
    if "properties" in schema and schema.get("title") not in BODIES:
        return {**schema, "required": list(schema["properties"])}
    return schema


def _open_dicts(schema: Any) -> Any:
    """Allow any properties in a dict without a schema; TypeScript would treat it as an empty object."""
    if isinstance(schema, list):
        return [_open_dicts(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    opened = {key: _open_dicts(value) for key, value in schema.items()}
    if isinstance(
        opened.get("description"), str
    ):  # Python 3.13 and newer keep docstrings without indentation
        opened["description"] = inspect.cleandoc(opened["description"])
    if opened.get("type") == "object" and "properties" not in opened:
        opened.setdefault("additionalProperties", True)
    return opened


def text() -> str:
    """Return the description as the text of the file."""
    return json.dumps(describe(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text())
    Path(sys.argv[2]).write_text(thresholds.typescript())
    Path(sys.argv[3]).write_text(kinds.typescript())
