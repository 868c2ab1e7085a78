"""A real kernel with its front end, as a notebook uses it."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.manager import KernelManager

from dtrain_lab.cells import rank_sets
from tests.waiting import wait_until

WITHIN_S = 60


@dataclass
class Ran:
    """What a cell gave back."""

    status: str
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    data: list[dict[str, Any]] = field(default_factory=list)
    ranks: list[Any] = field(default_factory=list)


class Notebook:
    """A kernel and a front end."""

    def __init__(self, **environment: str) -> None:
        self.manager = KernelManager()
        self.manager.start_kernel(env={**os.environ, **environment})
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code: str, interrupt_when: Any = None) -> Ran:
        """Run a cell; all output up to idle."""
        message = self.client.execute(code)
        if interrupt_when is not None:
            threading.Thread(target=self._interrupt, args=(interrupt_when,)).start()
        ran = Ran("")
        while True:
            got = self.client.get_iopub_msg(timeout=WITHIN_S)
            if got["parent_header"].get("msg_id") != message:
                continue
            kind, content = got["msg_type"], got["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind == "stream":
                setattr(ran, content["name"], getattr(ran, content["name"]) + content["text"])
            elif kind == "error":
                ran.error = "\n".join(content["traceback"])
            elif kind == "display_data":
                ran.data.append(content["data"])
                ran.ranks.append(got["metadata"].get("rank"))
        reply = self.client.get_shell_msg(timeout=WITHIN_S)
        while reply["parent_header"].get("msg_id") != message:
            reply = self.client.get_shell_msg(timeout=WITHIN_S)
        ran.status = reply["content"]["status"]
        return ran

    def _interrupt(self, when: Any) -> None:
        wait_until(when, 20, "the moment to interrupt")
        self.manager.interrupt_kernel()

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel()


def by_rank(text: str) -> dict[int, list[str]]:
    """Lines of each rank, merged or not: whether they merge depends on when they come."""
    lines: dict[int, list[str]] = {}
    for line in (line for line in text.splitlines() if line.startswith("[")):
        label, _, rest = line.removeprefix("[").partition("] ")
        for rank in rank_sets.parse(label, 99):
            lines.setdefault(rank, []).append(rest)
    return lines
