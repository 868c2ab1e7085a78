"""Closed sets of strings (states, kinds), defined once so that Python, TypeScript and OpenAPI agree.

`make types` writes the sets of states to `src/api/states.ts`; a test fails if that file is stale.
"""

from __future__ import annotations

from typing import Literal

EnvironmentKind = Literal["current", "venv", "conda", "modules", "apptainer", "command"]
HangAction = Literal["show", "interrupt"]
SlurmLauncher = Literal["srun", "torchrun"]
Framework = Literal["torch", "tensorflow", "mindspore"]
Accelerator = Literal["gpu", "npu"]
"""Kind of the devices that ranks compute on, where they have any: NVIDIA GPUs, or Ascend NPUs."""
Strategy = Literal["multi_worker_mirrored", "mirrored", "central_storage", "parameter_server"]
"""TensorFlow's strategies, as far as the launch of the ranks depends on them."""
Role = Literal["chief", "worker", "ps", "evaluator"]
CommKind = Literal["comm_open", "comm_msg", "comm_close"]
RankPhase = Literal["starting", "idle", "busy", "in collective", "paused", "stuck", "lost"]
WorldPhase = Literal[
    "pending",
    "starting",
    "connecting",
    "ready",
    "paused",
    "degraded",
    "rebuilding",
    "stopping",
    "stopped",
    "failed",
]
VerdictKind = Literal["slow", "stuck", "mismatch", "lost", "input_bound", "unknown"]
OutputKind = Literal[
    "stdout", "stderr", "display_data", "update_display_data", "execute_result", "clear_output", "error"
]
CellOutputKind = Literal[
    "stdout",
    "stderr",
    "display_data",
    "update_display_data",
    "execute_result",
    "clear_output",
    "error",
    "comm_open",
    "comm_msg",
    "comm_close",
]
"""`OutputKind`, and comm messages of widgets, which are forwarded but not journaled."""
Severity = Literal["problem", "warning", "note"]
JobLauncher = Literal["srun", "torchrun", "agents"]
"""What starts the ranks of a job; "agents" are our node agents, used where there is no scheduler."""
JobState = Literal[
    "planned", "queued", "starting", "running", "stopping", "succeeded", "failed", "cancelled", "lost"
]
CellState = Literal["waiting", "running", "ended"]
CellKind = Literal["cell", "diagnosis", "advice_trial", "post_mortem"]
"""What is queued and run as a cell: a user's cell, or one of our measurements, or `%debug`."""
LeaseKind = Literal["server", "kernel", "terminal", "python"]

JOB_ENDED: frozenset[str] = frozenset({"succeeded", "failed", "cancelled", "lost"})
ENDED: frozenset[str] = frozenset({"stopped", "failed"})
ENDING: frozenset[str] = ENDED | {"stopping"}
"""Phases of a world that runs no cell any more."""
SWEEP_PARTLY_SUCCEEDED = "sweep_partly_succeeded"
"""Code of the summary of a sweep that has succeeded though some of its trials failed or were stopped."""

WIDTH = 80
"""Of a line of TypeScript."""


def typescript() -> str:
    """Return the sets of states, and a code of a summary, as the text of `src/api/states.ts`."""
    lines = ["// Generated from dtrain_lab/wire/kinds.py by `make types`: do not edit."]
    for name, states in {"JOB_ENDED": JOB_ENDED, "ENDED": ENDED, "ENDING": ENDING}.items():
        listed = [f"'{state}'" for state in sorted(states)]
        line = f"export const {name}: readonly string[] = [{', '.join(listed)}];"
        if len(line) > WIDTH:
            line = line.replace("['", "[\n  '").replace(", ", ",\n  ").replace("'];", "'\n];")
        lines.append(line)
    lines.append(f"export const SWEEP_PARTLY_SUCCEEDED = '{SWEEP_PARTLY_SUCCEEDED}';")
    return "\n".join(lines) + "\n"
