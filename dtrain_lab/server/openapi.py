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
from dtrain_lab.placement.slots import Slots
from dtrain_lab.services.metrics_export import TYPES
from dtrain_lab.services.profiles.files import Listed
from dtrain_lab.wire import kinds
from dtrain_lab.wire.cells import CellRecord, Output
from dtrain_lab.wire.cluster import Cluster
from dtrain_lab.wire.jobs.job import Job, JobMetrics, JobPlan, JobRequest, JobSubmit, LogPiece
from dtrain_lab.wire.metrics import thresholds
from dtrain_lab.wire.metrics.diagnosis import Diagnosis, Tried
from dtrain_lab.wire.metrics.history import Point
from dtrain_lab.wire.metrics.verdicts import Advice
from dtrain_lab.wire.metrics.world import Metrics
from dtrain_lab.wire.plan import Request
from dtrain_lab.wire.site import (
    AdviceToTry,
    Error,
    KernelUse,
    LiveFrame,
    ProfileText,
    RankSet,
    SignedIn,
    SignIn,
    Site,
    Size,
)
from dtrain_lab.wire.stacks import Stack
from dtrain_lab.wire.sweeps import Sweep, SweepPlan, SweepRequest, Trial, UnreadableSweep

DEBUGGER = (DebugView, AcrossRow, Only)
"""Types that the notebook's panel receives from the kernel's debugger, not from a route."""
REF = "#/components/schemas/{name}"


class Stopping(msgspec.Struct, frozen=True):
    """A cluster that has been asked to stop."""

    id: str
    state: str


class Operation(msgspec.Struct, frozen=True):
    """A method of a path. `answer`: type and HTTP status of success; `files`: other content types of it."""

    method: str
    path: str
    summary: str
    answer: Any
    code: int = 200
    body: Any = None
    query: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


FORMATS = tuple(kind.partition(";")[0] for name, kind in TYPES.items() if name != "json")
NUMBERS = ("after", "most", "since", "last")
OPERATIONS = (
    Operation("get", "/profiles", "All profiles; a bad file comes with its error.", list[Listed]),
    Operation("get", "/profiles/{identity}", "Text of a profile's file.", ProfileText),
    Operation("put", "/profiles/{identity}", "Write a profile's file.", list[Listed], body=ProfileText),
    Operation("post", "/profiles/{identity}/check", "Ask every node of it.", dict[str, Any]),
    Operation(
        "get",
        "/quickstart",
        "The quickstart notebook, with the notebooks and pages that it leads to.",
        dict[str, Any],
    ),
    Operation("get", "/site", "What this machine has, and what this user may do.", Site),
    Operation("get", "/clusters", "All clusters, oldest first.", list[Cluster]),
    Operation("post", "/clusters", "Start a cluster.", Cluster, 202, Request),
    Operation("get", "/clusters/{identity}", "One cluster, by id or name.", Cluster),
    Operation("delete", "/clusters/{identity}", "Stop it.", Stopping, 202),
    Operation(
        "get",
        "/clusters/{identity}/output",
        "Output after `after`, oldest first.",
        list[Output],
        query=("after", "most", "cell"),
    ),
    Operation(
        "get",
        "/clusters/{identity}/cells",
        "Cells that the cluster knows, oldest first; `last=1`: only the last run of each cell.",
        list[CellRecord],
        query=("last",),
    ),
    Operation("get", "/clusters/{identity}/metrics", "Metrics of the cluster.", Metrics),
    Operation(
        "get",
        "/clusters/{identity}/history",
        "Metric history since a point, in a `format`; with `idle=1` also between trainings.",
        list[Point],
        query=("since", "format", "idle"),
        files=FORMATS,
    ),
    Operation(
        "get", "/clusters/{identity}/stacks", "What all threads are doing.", list[Stack], query=("ranks",)
    ),
    Operation("get", "/clusters/{identity}/advise", "What would make training faster.", list[Advice]),
    Operation("post", "/clusters/{identity}/advise", "Measure what advice gains.", Tried, 200, AdviceToTry),
    Operation("post", "/clusters/{identity}/diagnose", "What takes a step's time.", Diagnosis),
    Operation(
        "post", "/clusters/{identity}/interrupt", "Interrupt; variables are kept.", Cluster, 200, RankSet
    ),
    Operation("post", "/clusters/{identity}/restart", "New processes for ranks.", Cluster, 202, RankSet),
    Operation(
        "post", "/clusters/{identity}/leave-out", "Continue without lost ranks.", Cluster, 202, RankSet
    ),
    Operation("post", "/clusters/{identity}/resize", "Another number of ranks.", Cluster, 202, Size),
    Operation("get", "/kernels/{identity}", "A kernel's notebook, and the cluster that it uses.", KernelUse),
    Operation("get", "/jobs", "All jobs, newest first.", list[Job]),
    Operation("post", "/jobs", "Submit a notebook, or a plan of it.", Job, 202, JobSubmit),
    Operation(
        "post",
        "/jobs/plan",
        "What would be submitted, without submitting it.",
        JobPlan,
        200,
        JobRequest,
        ("ask",),
    ),
    Operation("get", "/jobs/{identity}", "One job, by id or name.", Job),
    Operation(
        "delete", "/jobs/{identity}", "Remove it, with its folder and checkpoints.", Job, query=("force",)
    ),
    Operation(
        "get",
        "/jobs/{identity}/logs",
        "A piece of its log.",
        LogPiece,
        query=("offset", "ranks", "first_error", "search"),
    ),
    Operation("get", "/jobs/{identity}/metrics", "Metrics and their history.", JobMetrics),
    Operation(
        "get",
        "/jobs/{identity}/history",
        "Metric history, in a `format`.",
        list[Point],
        query=("format",),
        files=FORMATS,
    ),
    Operation("get", "/jobs/{identity}/stacks", "What all threads are doing.", list[Stack], query=("ranks",)),
    Operation("get", "/jobs/{identity}/notebook", "The executed notebook.", dict[str, Any]),
    Operation("get", "/jobs/{identity}/request", "The request that submitted it.", JobRequest),
    Operation("post", "/jobs/{identity}/cancel", "End it, on all its nodes.", Job, 202),
    Operation(
        "post", "/jobs/{identity}/resume", "A new job, from its checkpoint.", Job, 202, query=("force",)
    ),
    Operation("get", "/sweeps", "All sweeps, newest first.", list[Sweep]),
    Operation("post", "/sweeps", "Vary a notebook's parameters over jobs.", Sweep, 202, SweepRequest),
    Operation(
        "post",
        "/sweeps/plan",
        "What would start, without starting it.",
        SweepPlan,
        200,
        SweepRequest,
        ("ask",),
    ),
    Operation("get", "/sweeps/unreadable", "Sweeps that can't be read, and why.", list[UnreadableSweep]),
    Operation("get", "/sweeps/{identity}", "One sweep, by id or name.", Sweep),
    Operation(
        "delete",
        "/sweeps/{identity}",
        "Remove it, and its trials' jobs with their folders and checkpoints.",
        Sweep,
        query=("force",),
    ),
    Operation("get", "/sweeps/{identity}/trials", "Its trials, in order.", list[Trial]),
    Operation("post", "/sweeps/{identity}/stop", "End its trials; checkpoints are kept.", Sweep, 202),
    Operation("post", "/sweeps/{identity}/resume", "Resume it from the checkpoints.", Sweep, 202),
    Operation("get", "/slots", "Who holds the slots of a profile's machines.", Slots, query=("profile",)),
    Operation(
        "delete",
        "/slots/{identity}",
        "End one of your own GPU processes that belongs to no cluster and no job.",
        Slots,
        query=("profile",),
    ),
    Operation("post", "/sign-in", "Sign in to a host that asks for something.", SignedIn, 200, SignIn),
    Operation(
        "get",
        "/live",
        "WebSocket: one frame a tick while somebody looks. `ranks=columns`: a list for each field of ranks.",
        LiveFrame,
        query=("ranks",),
    ),
)

BODIES = frozenset(operation.body.__name__ for operation in OPERATIONS if operation.body is not None)
"""Names of the types that requests consist of; some are answers as well."""


def describe() -> dict[str, Any]:
    """Return the complete OpenAPI description."""
    types = [t for o in OPERATIONS for t in (o.answer, o.body) if t is not None] + [Error, *DEBUGGER]
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
