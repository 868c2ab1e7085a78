"""Joins this node to a world whose head runs elsewhere, and keeps its agent alive.

`python -m dtrain_lab.node join FILE [NODE]` waits for the head's endpoints (a 0600 file on a file system that
the nodes share; `-` for stdin) and starts the agent. Where the agent is killed, another takes its place: its
ranks are lost, the world is not. The agent in turn ends with this process.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dtrain_lab.core.endpoints import Endpoints
from dtrain_lab.machine import first_reachable, interfaces, local_facts, private, sockets
from dtrain_lab.node.main import Settings

ENDPOINTS_WITHIN_S = 120.0
POLL_S = 0.05
MOST_RESTARTS = 5
HEALTHY_S = 60.0
"""An agent that lived so long did not fail at its start."""


class Unjoinable(Exception):
    """This node can't reach the head; the message says why."""


def main(arguments: list[str]) -> int:
    """Entry point.

    Args:
        arguments: `join FILE [NODE]`; without NODE the scheduler's task says which node this is.

    Returns:
        Exit code: 0 when the head let the agent go.
    """
    _, file, *rest = arguments
    node = int(rest[0] if rest else os.environ["SLURM_NODEID"])
    known = msgspec.json.decode(sys.stdin.buffer.readline(), type=Endpoints) if file == "-" else None
    identity = known.id if known is not None else Path(file).parent.name
    directory = private(sockets() / f"{identity}.{node}")
    (directory / "ipp").mkdir(exist_ok=True)  # of ipyparallel's engines
    reading, writing = os.pipe()
    del writing  # never closed by hand: its end is this process's
    settings = Settings(
        node=node,
        name=socket.gethostname().split(".")[0],
        link="",
        directory=str(directory),
        variables=known.variables if known is not None else {},
        lifeline=reading,
        joins=True,
        gpus=local_facts().gpus,
    )
    # torch is loaded while the head comes up
    agent = _start(settings)
    try:
        endpoints = known or _endpoints(file)
        link = asyncio.run(_link(endpoints))
        keys = None if link.startswith("ipc://") else endpoints.keys
        settings = replace(settings, link=link, keys=keys, variables=endpoints.variables)
        if file == "-":
            _leave_streams(directory / f"join.{node}.log")
        return _keep(agent, settings)
    except Unjoinable as error:
        print(f"{socket.gethostname()}: {error}", file=sys.stderr)
        return 1
    finally:
        agent.kill()
        agent.wait()
        shutil.rmtree(directory, ignore_errors=True)


def _leave_streams(log: Path) -> None:
    """Say that it works, and let whoever started this go."""
    print("joined", flush=True)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(target, number)
    os.close(target)


def _keep(agent: subprocess.Popen[bytes], settings: Settings) -> int:
    left = MOST_RESTARTS
    while True:
        began = time.monotonic()
        assert agent.stdin is not None
        agent.stdin.write(msgspec.json.encode(settings) + b"\n")
        agent.stdin.close()
        code = agent.wait()
        if time.monotonic() - began > HEALTHY_S:
            left = MOST_RESTARTS
        left -= 1
        if code == 0 or left == 0:
            return code
        agent = _start(replace(settings, link="", keys=None))


def _start(settings: Settings) -> subprocess.Popen[bytes]:
    """Start an agent; it is told its link with a second line."""
    assert settings.lifeline is not None
    with open(os.path.join(settings.directory, f"node.{settings.node}.log"), "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dtrain_lab.node"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[settings.lifeline],
        )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(settings) + b"\n")
    process.stdin.flush()
    return process


def _endpoints(file: str) -> Endpoints:
    until = time.monotonic() + ENDPOINTS_WITHIN_S
    while time.monotonic() < until:
        try:
            return msgspec.json.decode(Path(file).read_bytes(), type=Endpoints)
        except FileNotFoundError:
            time.sleep(POLL_S)
    raise Unjoinable(f"{file} did not appear in {ENDPOINTS_WITHIN_S:.0f} s: the head did not start")


async def _link(endpoints: Endpoints) -> str:
    """The way to the head: its unix socket where it is on this node, else an address that answers."""
    path = Path(endpoints.directory) / "link"
    if endpoints.host == socket.gethostname() and path.exists():
        return f"ipc://{path}"
    own = {i.address for i in interfaces()}
    urls = [u for u in endpoints.link if u.removeprefix("tcp://").rpartition(":")[0].strip("[]") not in own]
    found = await first_reachable(urls)
    if found is None:
        raise Unjoinable(
            f"can't reach the head on {endpoints.host} at any of {', '.join(urls) or 'no address'}; "
            "open these ports between the nodes, or set [network] interface in the profile"
        )
    return found
