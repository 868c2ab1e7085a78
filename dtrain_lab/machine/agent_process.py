"""Starts a node agent on this machine: for its head, or to join this node to a head elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec

from dtrain_lab.wire.processes.settings import AgentSettings


def start(settings: AgentSettings) -> subprocess.Popen[bytes]:
    """Start a node agent, and write its settings to its standard input, which stays open."""
    assert settings.lifeline is not None
    with open(os.path.join(settings.directory, f"node.{settings.node}.log"), "ab") as log:
        process = subprocess.Popen(
            # -P: a module in the working directory must not shadow one of the standard library
            [sys.executable, "-P", "-m", "dtrain_lab.node"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[settings.lifeline],
        )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(settings) + b"\n")
    process.stdin.flush()
    return process
