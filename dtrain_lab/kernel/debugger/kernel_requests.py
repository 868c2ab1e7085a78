"""Requests to the kernel's own debugger, which can't be started while a cell runs."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ipykernel.compiler import get_tmp_directory

from dtrain_lab.debugger.replies import EMPTY
from dtrain_lab.debugger.state import Dap

WITHOUT_START = (
    "debugInfo",
    "inspectVariables",
    "richInspectVariables",
    "modules",
    "copyToGlobals",
)
STARTS = ("initialize", "attach")
LATER = ("initialize", "attach", "setBreakpoints", "setExceptionBreakpoints", "configurationDone")
"""Requests that wait until the kernel is idle: starting the kernel's own debugger runs code in the kernel."""

FILTERS = [
    {
        "filter": "raised",
        "label": "Raised Exceptions",
        "description": "Break whenever any exception is raised.",
        "default": False,
    },
    {
        "filter": "uncaught",
        "label": "Uncaught Exceptions",
        "description": "Break when the process is exiting due to unhandled exception.",
        "default": False,
    },
    {
        "filter": "userUnhandled",
        "label": "User Uncaught Exceptions",
        "description": "Break when exception escapes into library code.",
        "default": False,
    },
]
"""Kinds of exceptions at which ranks can stop, as debugpy lists them."""


class OwnRequests:
    """Asks the kernel's own debugger, and delays what it can't serve yet. Lives in the control thread's loop.

    Args:
        own: ipykernel's debugger.
        busy: Whether a cell of ranks occupies the kernel's main thread.
        wanted: Whether the front end has switched its debugger on.
    """

    def __init__(self, own: Any, busy: Callable[[], bool], wanted: Callable[[], bool]) -> None:
        self._own = own
        self._busy = busy
        self._wanted = wanted
        self._later: list[Dap] = []
        self._starts: dict[str, Dap] = {}  # the last requests that started it
        self._started: dict[str, Dap] = {}  # its answers to them
        self._asking = asyncio.Lock()
        """Held while it answers: it takes the next answer for that to its request."""

    @property
    def delayed(self) -> bool:
        """Whether requests wait for the kernel to be idle."""
        return bool(self._later)

    def forget(self) -> None:
        """Drop the delayed requests."""
        self._later.clear()
        self._started.clear()

    async def ask(self, message: Dap) -> Dap:
        """Return its answer; where it can't answer, one with all that JupyterLab reads."""
        command = message["command"]
        if not self._busy():
            await self.catch_up()
        if command in WITHOUT_START:
            answer: Dap = await self._own.process_request(message)
            return answer
        if command == "source":
            return self._readable(await self._own.source(message))
        if command in STARTS and self._own.is_started and command in self._started:
            # of a page that was reloaded; debugpy would refuse it
            return {**copy.deepcopy(self._started[command]), "request_seq": message["seq"]}
        if command in STARTS:
            self._starts[command] = copy.deepcopy(message)
        elif self._wanted() and not (self._own.is_started or self._busy() or self._later):
            self._later.extend(copy.deepcopy([*self._starts.values()]))  # it has ended
            await self.catch_up()
        if self._own.is_started or not (self._busy() or self._later):
            async with self._asking:
                reply: Dap = await self._ask_own(message)
            if reply:  # empty while it is not started
                return reply
        if command == "dumpCell":
            Path(get_tmp_directory()).mkdir(mode=0o700, parents=True, exist_ok=True)
            dumped: Dap = await self._own.dumpCell(message)
            return dumped
        if command in LATER and (self._busy() or self._later):
            starts = command in STARTS and any(request["command"] == command for request in self._later)
            if not starts:  # twice would be an error
                self._later.append(message)
        body: Dap = {EMPTY[command]: []} if command in EMPTY else {}
        if command == "initialize":
            body = {"exceptionBreakpointFilters": FILTERS}
        if command == "setBreakpoints":
            body = {"breakpoints": [{"verified": True, **b} for b in message["arguments"]["breakpoints"]]}
        return {
            "type": "response",
            "seq": message["seq"],
            "request_seq": message["seq"],
            "success": True,
            "command": command,
            "body": body,
        }

    async def _ask_own(self, message: Dap) -> Dap:
        reply: Dap = await self._own.process_request(message)
        if message["command"] in STARTS and reply.get("success"):
            self._started[message["command"]] = copy.deepcopy(reply)
        return reply

    @staticmethod
    def _readable(answer: Dap) -> Dap:
        """Add content, which JupyterLab reads also where there is none."""
        if "content" not in answer["body"]:
            answer["body"] = {"content": "# This file is not on the notebook's host."}
        return answer

    async def catch_up(self) -> None:
        """Send the delayed requests, once the kernel is idle."""
        async with self._asking:
            while self._later and not self._busy():
                await self._ask_own(self._later.pop(0))
