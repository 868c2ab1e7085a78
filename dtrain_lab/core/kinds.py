"""The closed word lists of the product: one place, so that Python, TypeScript and OpenAPI agree."""

from __future__ import annotations

from typing import Literal

BackendKind = Literal["local", "ssh", "slurm"]
EnvironmentKind = Literal["current", "venv", "conda", "modules", "apptainer", "command"]
HangAction = Literal["show", "interrupt"]
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
"""`OutputKind`, and what widgets say, which is passed on and not kept."""
Severity = Literal["problem", "warning", "note"]
JobLauncher = Literal["srun", "torchrun", "agents"]
"""Who makes the ranks of a job; agents: ours, where there is no scheduler."""
JobState = Literal[
    "planned", "queued", "starting", "running", "stopping", "succeeded", "failed", "cancelled", "lost"
]
CellState = Literal["waiting", "running", "ended"]
LeaseKind = Literal["server", "kernel", "terminal", "python"]

JOB_ENDED: frozenset[str] = frozenset({"succeeded", "failed", "cancelled", "lost"})
ENDED: frozenset[str] = frozenset({"stopped", "failed"})
