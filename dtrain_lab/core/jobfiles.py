"""Names of what lies in a job's folder, and of the variables that its processes find it by."""

from __future__ import annotations

JOB = "job.json"
CODE = "code"
MAIN = "main.py"
BATCH = "job.sh"
NODE = "node.sh"
EXECUTED = "executed.ipynb"
ENDPOINTS = "endpoints.json"
LIVE = "live.json"
HISTORY = "metrics.jsonl"
VALUES = "values.jsonl"
DOING = "cell.json"
STARTED = "started"
PID = "pid"
RESERVE = ".reserve"
ATTEMPT = "attempt"
EXIT = "exit"
CANCELLED = "cancelled"
WARNED = "warned"
"""The time limit is near: ranks get SIGUSR2, once."""
PREEMPTED = "preempted"
"""Slurm has given its nodes to another job."""
WAITING = "waiting.json"
GANG = "gang.json"
"""Keys with which the hosts of a job find each other."""
PACKAGES = "packages.txt"
"""Of the environment that the job ran in."""
CHECKPOINTS = "checkpoints"
LAUNCHER_LOG = "launcher"

FOLDER_VARIABLE = "DTRAIN_JOB"
NOTEBOOK_VARIABLE = "DTRAIN_NOTEBOOK"
METRICS_VARIABLE = "DTRAIN_METRICS_FD"
STACKS_VARIABLE = "DTRAIN_STACKS_FD"
DEBUG_VARIABLE = "DTRAIN_DEBUG_FD"
AGENT_VARIABLE = "DTRAIN_AGENT"
"""Pid of the agent that keeps a rank."""
ATTEMPT_VARIABLE = "DTRAIN_ATTEMPT"
NEVER_VARIABLE = "DTRAIN_NEVER"
"""Why ranks can't start on a host: a `Reason`, as JSON. Its agent tells the others as of ranks that fail."""
MONITOR_VARIABLE = "DTRAIN_MONITOR"
OURS = (METRICS_VARIABLE, STACKS_VARIABLE, DEBUG_VARIABLE)


def failed(attempt: int) -> str:
    """A rank has failed in this attempt: its peers are ended."""
    return f"failed.{attempt}"


def staging(node: int) -> str:
    """How much of the job's data a node has copied."""
    return f"staging.{node}.json"


def log(node: int) -> str:
    """Log of a node: a line for each that its ranks wrote."""
    return f"log.{node}"


def error(rank: int) -> str:
    """How a rank failed."""
    return f"error.{rank}.json"
