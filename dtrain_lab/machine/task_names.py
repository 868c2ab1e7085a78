"""Names of background tasks, with what users read of them when they fail."""

from __future__ import annotations

from typing import Final

LOOPS: Final = {
    "server.keep": "keeping clusters",
    "server.jobs": "watching jobs",
    "server.feeds": "following the heads of jobs",
    "server.sweeps": "resuming sweeps",
    "server.panel": "sending to the panel",
    "head.watch": "watching ranks",
    "head.limit": "asking for the time limit",
    "head.agents": "watching node agents",
    "head.controller": "waiting for ipyparallel's controller",
    "node.samples": "measuring",
    "node.unsaid": "reading the output of silent ranks",
    "node.link": "watching the connection to the head",
    "node.look": "looking for peers that failed",
    "node.head": "looking for the job's head",
    "node.debugger": "forwarding debugger messages",
    "node.output": "writing a rank's output",
    "admission.end": "watching the job's script",
    "client.watch": "following a cluster",
    "client.reach": "looking for a cluster's head",
    "client.link": "watching the connection to a cluster",
    "debug.hold": "holding the debugger",
    "debug.look": "polling the debugged ranks",
    "debug.job": "looking whether the debugged job has ended",
    "debug.again": "attaching the debugger to restarted ranks",
    "ssh.cut": "watching an SSH connection",
}
"""Loops that run as long as their process: name → activity, as shown to users."""

ONCE: Final = {
    "server.action": "a requested action",
    "server.head": "keeping a cluster",
    "head.answer": "answering a request",
    "head.end": "ending the cluster",
    "head.files": "updating the files of a job",
    "head.message": "handling a message",
    "head.action": "changing the cluster",
    "node.order": "carrying out an order",
    "node.task": "carrying out an order",
    "client.message": "handling a message",
    "client.record": "removing what a killed cluster has left",
    "client.task": "background work",
    "debug.meet": "waiting for paused ranks",
    "debug.gather": "stepping ranks to a collective",
    "debug.step": "stepping a late rank",
    "debug.postmortem": "opening a failed cell",
    "debug.request": "answering an editor",
    "callback": "a callback",
}
"""One-off tasks: name → activity. A failure is reported to the caller that waits, and counted."""
