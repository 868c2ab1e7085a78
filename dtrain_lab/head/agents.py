"""The node agents that the head itself starts: its own node's, and simulated further ones."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec

Ended = Callable[[int, int], None]


class Agents:
    """Starts `python -m dtrain_lab.node` processes and hears of their end.

    An agent lives as long as the head: it reads a pipe whose other end only the head holds.

    Args:
        directory: for sockets and logs.
        link: URL that agents connect to.
        ended: called with a node's index and the exit code of its agent, unless `close` ended it.
    """

    def __init__(self, directory: str, link: str, ended: Ended) -> None:
        self._directory = directory
        self._link = link
        self._ended = ended
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lifeline = os.pipe()
        self._closing = False

    def start(
        self, node: int, name: str, gpus: int, variables: dict[str, str], *, joins: bool = False
    ) -> None:
        """Start the agent of a node; one that `joins` says what the node has, as others' agents do."""
        settings: dict[str, Any] = {
            "node": node,
            "name": name,
            "link": self._link,
            "directory": self._directory,
            "gpus": gpus,
            "variables": variables,
            "lifeline": self._lifeline[0],
            "joins": joins,
        }
        with open(os.path.join(self._directory, f"node.{node}.log"), "ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dtrain_lab.node"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[self._lifeline[0]],
            )
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(settings))
        process.stdin.close()
        self._processes[node] = process
        task = asyncio.create_task(self._watch(node, process))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self, within_s: float) -> None:
        """Wait for agents that were told to leave; end those that don't."""
        self._closing = True
        os.close(self._lifeline[1])
        until = asyncio.get_running_loop().time() + within_s
        for process in self._processes.values():
            while process.poll() is None and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(0.01)
            if process.poll() is None:
                process.kill()
                process.wait()

    async def _watch(self, node: int, process: subprocess.Popen[bytes]) -> None:
        done = asyncio.Event()
        descriptor = os.pidfd_open(process.pid)
        asyncio.get_running_loop().add_reader(descriptor, done.set)
        try:
            await done.wait()
        finally:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        if not self._closing:
            self._ended(node, process.wait())
