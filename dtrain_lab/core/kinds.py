"""The closed word lists of the product: one place, so that Python, TypeScript and OpenAPI agree."""

from __future__ import annotations

from typing import Literal

BackendKind = Literal["local", "ssh", "slurm"]
EnvironmentKind = Literal["current", "venv", "conda", "modules", "apptainer", "command"]
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
CellState = Literal["waiting", "running", "ended"]
LeaseKind = Literal["server", "kernel", "terminal", "python"]

ENDED: frozenset[str] = frozenset({"stopped", "failed"})
