"""File names in a job's folder."""

from __future__ import annotations

JOB = "job.json"
HEAD = "head.json"
"""Settings of a cluster's head, on a file system shared by its nodes."""
CODE = "code"
MAIN = "dtrain_main.py"
"""The script: beside the project's files, which often have a `main.py`."""
BATCH = "job.sh"
EXECUTED = "executed.ipynb"
ENDPOINTS = "endpoints.json"
INTERFACES = "interfaces.jsonl"
"""Network interfaces of each node of a scheduler's job, by which its ranks choose a network."""
HEAD_LOG = "head.log"
LIVE = "live.json"
HISTORY = "metrics.jsonl"
VALUES = "values.jsonl"
DOING = "cell.json"
STARTED = "started"
PID = "pid"
RESERVE = ".reserve"
ATTEMPT = "attempt"
EXIT = "exit"
END_COMMAND = "notified"
"""Result of the user's command for the job's end (`JobRequest.notify`): exit code, then last output."""
END_COMMAND_LOG = "notify.log"
CANCELLED = "cancelled"
WARNED = "warned"
"""Marks that the time limit is near; each rank gets SIGUSR2 once."""
PREEMPTED = "preempted"
"""Marks that Slurm has given the job's nodes to another job."""
WITHDRAWN = "withdrawn"
"""Marks a job that must not start, although a scheduler that answered too late may still have it."""
WAITING = "waiting.json"
GANG = "gang.json"
"""CURVE keys of the connection between a job's hosts."""
PACKAGES = "packages.txt"
"""Packages of the environment that the job ran in."""
CHECKPOINTS = "checkpoints"
LAUNCHER_LOG = "launcher"
SCHEDULER_LOG = "scheduler.log"
"""Output of MindSpore's scheduler."""


def failed(attempt: int) -> str:
    """File that marks a failed rank in this attempt, upon which its peers are ended."""
    return f"failed.{attempt}"


def finished(attempt: int) -> str:
    """File that marks a chief that has succeeded in this attempt, upon which its servers are ended."""
    return f"finished.{attempt}"


def staging(node: int) -> str:
    """File with a node's progress in copying the job's data."""
    return f"staging.{node}.json"


def log(node: int) -> str:
    """Log file of a node, with one line per line that its ranks wrote."""
    return f"log.{node}"


def error(rank: int) -> str:
    """File with a rank's error."""
    return f"error.{rank}.json"
