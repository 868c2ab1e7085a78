"""A kernel whose debugger is spoken to as JupyterLab does."""

from __future__ import annotations

from typing import Any

from tests.integration.kernels import Notebook

ANSWER_S = 90
"""Longer than any answer takes, also where three parts of the tests share a slow machine."""


class Debugged(Notebook):
    """A kernel whose debugger is spoken to as JupyterLab does."""

    seq = 0
    is_on = False

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """A debug request, and its answer."""
        self.seq += 1
        content = {"type": "request", "seq": self.seq, "command": command, "arguments": arguments}
        message = self.client.session.msg("debug_request", content)
        self.client.control_channel.send(message)
        while True:
            got = self.client.control_channel.get_msg(timeout=ANSWER_S)
            if got["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                body: dict[str, Any] = got["content"]
                return body

    def event(self, wanted: str) -> dict[str, Any]:
        """The next debug event of this kind."""
        while True:
            got = self.client.get_iopub_msg(timeout=ANSWER_S)
            if got["msg_type"] == "debug_event" and got["content"]["event"] == wanted:
                body: dict[str, Any] = got["content"]["body"]
                return body

    def begin(self, code: str) -> str:
        """Run a cell that is debugged meanwhile."""
        return str(self.client.execute(code))

    def end(self, message: str) -> str:
        """What it printed."""
        out = ""
        while True:
            got = self.client.get_iopub_msg(timeout=ANSWER_S)
            if got["parent_header"].get("msg_id") != message:
                continue
            if got["msg_type"] == "stream":
                out += got["content"]["text"]
            elif got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                return out

    def switch_on(self) -> None:
        """The bug in the toolbar."""
        assert self.ask("initialize", clientID="jupyterlab", adapterID="python3")["success"]
        assert self.ask("attach")["success"]
        self.is_on = True

    def switch_off(self) -> None:
        """The bug in the toolbar, again; ranks that stand run on."""
        assert self.ask("disconnect", restart=False, terminateDebuggee=False)["success"]
        self.is_on = False

    def source(self, code: str) -> str:
        """The front end tells of a cell."""
        return str(self.ask("dumpCell", code=code)["body"]["sourcePath"])

    def breakpoints(self, path: str, *lines: int) -> list[dict[str, Any]]:
        """All breakpoints of a cell."""
        wanted = [{"line": line} for line in lines]
        answer = self.ask("setBreakpoints", source={"path": path}, breakpoints=wanted)
        found: list[dict[str, Any]] = answer["body"]["breakpoints"]
        return found
