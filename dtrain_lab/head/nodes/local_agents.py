"""Starts and supervises the node agents on the head's own machine, simulated further nodes included."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from functools import partial

from dtrain_lab.machine import agent_process, processes, supervision
from dtrain_lab.wire.processes.settings import HEIR_WITHIN_S, AgentSettings

Ended = Callable[[int, int], None]


class Agents:
    """Starts `python -m dtrain_lab.node` processes and watches for their exit.

    An agent lives as long as the head: it reads a pipe whose other end only the head holds.

    Args:
        directory: Folder of the agents' sockets and logs.
        link: URL that agents connect to.
        ended: Called with the node's index and the agent's exit code, unless `close` ended the agent.
    """

    def __init__(self, directory: str, link: str, ended: Ended) -> None:
        self._directory = directory
        self._link = link
        self._ended = ended
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._lifeline = os.pipe()
        self._closing = False

    def start(
        self,
        node: int,
        name: str,
        gpus: int,
        variables: dict[str, str],
        *,
        joins: bool = False,
        inherits: bool = False,
    ) -> None:
        """Start the agent of a node.

        Args:
            node: Index of the node in the plan.
            name: Name of the node.
            gpus: Number of GPUs of the node.
            variables: Environment variables of the world.
            joins: The agent checks its node and reports what it has, as agents on other machines do.
            inherits: The agent takes over the fork server of a head that ends.
        """
        settings = AgentSettings(
            node, name, self._link, self._directory, gpus, variables,
            lifeline=self._lifeline[0], joins=joins, inherits=inherits,
        )  # fmt: skip
        process = agent_process.start(settings)
        assert process.stdin is not None
        process.stdin.close()
        self._processes[node] = process
        supervision.here().start_loop("head.agents", partial(self._watch, node, process))

    async def close(self, within_s: float, *, handing_on: bool = False) -> None:
        """Wait for agents that were told to leave; kill those still running after `within_s` seconds.

        Args:
            within_s: Seconds to wait.
            handing_on: An agent also waits for the heir of its fork server.
        """
        self._closing = True
        if handing_on:  # closed later: its end could overtake the order that names the heir
            within_s += HEIR_WITHIN_S
        else:
            os.close(self._lifeline[1])
        until = asyncio.get_running_loop().time() + within_s
        for process in self._processes.values():
            while process.poll() is None and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(0.01)
            if process.poll() is None:
                process.kill()
                process.wait()
        if handing_on:
            os.close(self._lifeline[1])

    async def _watch(self, node: int, process: subprocess.Popen[bytes]) -> None:
        if self._processes.get(node) is not process:
            return  # a newer agent of this node has replaced it
        if process.returncode is None:
            await processes.ended(process.pid)
        if not self._closing:
            self._ended(node, process.wait())
