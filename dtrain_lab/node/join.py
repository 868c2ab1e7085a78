"""Joins this node to a world whose head runs elsewhere, and keeps its agent alive.

`python -m dtrain_lab.node join FILE NODE` waits for the head's endpoints (a 0600 file on a shared file
system; `-` for stdin) and starts the agent. NODE is its index, or the variable that has it. If the agent is
killed, it is restarted: its ranks are lost, the world is not. The agent in turn ends with this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dtrain_lab.machine import agent_process
from dtrain_lab.machine.facts import local_facts
from dtrain_lab.machine.folders import private, sockets
from dtrain_lab.machine.logs import event_logs
from dtrain_lab.node import task_number
from dtrain_lab.node.link import head_url
from dtrain_lab.wire.processes.endpoints import Endpoints, decode
from dtrain_lab.wire.processes.settings import AgentSettings

ENDPOINTS_WITHIN_S = 120.0
POLL_S = 0.05
MOST_RESTARTS = 5
HEALTHY_S = 60.0
"""An agent that lived for this many seconds did not fail at its start."""


class Unjoinable(Exception):
    """This node can't reach the head; the message says why."""


def main(arguments: list[str]) -> int:
    """Entry point.

    Args:
        arguments: `join FILE NODE`.

    Returns:
        Exit code: 0 when the head told the agent to leave; 1 if this node can't reach it, which is printed.
    """
    _, file, number = arguments
    node = task_number.of(number)
    given = decode(sys.stdin.buffer.readline()) if file == "-" else None
    identity = given.id if given is not None else Path(file).parent.name
    directory = private(sockets() / f"{identity}.{node}")
    reading, writing = os.pipe()
    del writing  # closed only by this process's end: the agent's lifeline
    settings = AgentSettings(
        node=node,
        name=socket.gethostname().split(".")[0],
        link="",
        directory=str(directory),
        variables=given.variables if given is not None else {},
        lifeline=reading,
        joins=True,
        gpus=local_facts().gpus,
    )
    # the agent loads torch while the head comes up
    agent = agent_process.start(settings)
    try:
        endpoints = given or _endpoints(file)
        link = asyncio.run(head_url(endpoints))
        if link is None:
            urls = ", ".join(endpoints.link) or "no address"
            raise Unjoinable(
                f"can't reach the head on {endpoints.host} at any of {urls}; "
                "open these ports between the nodes, or set [network] interface in the profile"
            )
        keys = None if link.startswith("ipc://") else endpoints.keys
        settings = replace(settings, link=link, keys=keys, variables=endpoints.variables)
        if file == "-":
            print("joined", flush=True)  # the process that started this one may end now
            event_logs.take_streams(directory / f"join.{node}.log")
        return _run_agent(agent, settings)
    except Unjoinable as error:
        print(f"{socket.gethostname()}: {error}", file=sys.stderr)
        return 1
    finally:
        agent.kill()
        agent.wait()
        shutil.rmtree(directory, ignore_errors=True)


def _run_agent(agent: subprocess.Popen[bytes], settings: AgentSettings) -> int:
    left = MOST_RESTARTS
    while True:
        began = time.monotonic()
        assert agent.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the agent has already ended: its exit code tells
            agent.stdin.write(msgspec.json.encode(settings) + b"\n")
            agent.stdin.close()
        code = agent.wait()
        if time.monotonic() - began > HEALTHY_S:
            left = MOST_RESTARTS
        left -= 1
        if code == 0 or left == 0:
            return code
        # its link follows in a second line
        agent = agent_process.start(replace(settings, link="", keys=None))


def _endpoints(file: str) -> Endpoints:
    until = time.monotonic() + ENDPOINTS_WITHIN_S
    while time.monotonic() < until:
        try:
            return decode(Path(file).read_bytes())
        except FileNotFoundError:
            time.sleep(POLL_S)
    raise Unjoinable(f"{file} did not appear in {ENDPOINTS_WITHIN_S:.0f} s: the head did not start")
