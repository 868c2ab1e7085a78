"""Frames and variables of a rank as the front end shows them."""

from __future__ import annotations

import re

from dtrain_lab.debugger import events
from dtrain_lab.debugger.state import Dap, State, outward


def numbered(state: State, rank: int, body: Dap) -> Dap:
    """Translate a rank's answer for the front end: ids of frames and variables, and source paths.

    Args:
        state: current state.
        rank: number of the rank.
        body: body of its answer.
    """
    translated = dict(body)
    for frame in translated.get("stackFrames", ()):
        frame["id"] = outward(rank, frame["id"])
        if frame.get("source", {}).get("path"):
            frame["source"]["path"] = events.path_of(state, frame["source"]["path"])
    for item in (*translated.get("scopes", ()), *translated.get("variables", ()), translated):
        if item.get("variablesReference"):
            item["variablesReference"] = outward(rank, item["variablesReference"])
    if "variables" in translated:
        translated["variables"] = [
            v if state.editor else _typed_variable(v)
            for v in translated["variables"]
            if not _hidden(v["name"])
        ]
    return translated


MOST_TOLD = 60
"""Maximum displayed characters of a tensor; for a larger one, its type is displayed."""


def _typed_variable(variable: Dap) -> Dap:
    """A variable for JupyterLab, which shows types: that of a small tensor is its value."""
    text = " ".join(str(variable.get("value", "")).split())
    tensor = variable.get("type") in ("Tensor", "Parameter", "ndarray")
    return {**variable, "type": text} if tensor and text and len(text) <= MOST_TOLD else variable


HIDDEN = frozenset(
    {"In", "Out", "get_ipython", "exit", "quit", "debugpy", "_dh", "_oh", "_", "__", "___"}
    | {f"__{name}__" for name in ("name", "doc", "package", "loader", "spec", "annotations", "builtins")}
    | {"__builtin__", "__display__"}
)
"""Variables that IPython and Python put into a namespace; not shown."""


def _hidden(name: str) -> bool:
    return name in HIDDEN or re.match(r"^_(\d|i)", name) is not None
