"""The execute request that a kernel is running: its cell, the position of its code, and its sender."""

from __future__ import annotations

import os
import re
import sys
from types import FrameType
from typing import Any


class ExecuteRequest:
    """The execute request that a shell is running.

    Args:
        shell: The kernel's shell, or a terminal's IPython, which has no requests.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._kernel = getattr(shell, "kernel", None)

    @property
    def number(self) -> int:
        """The running cell's number; newer IPython's `execution_count` is already the next cell's."""
        return len(self._shell.history_manager.input_hist_raw) - 1

    @property
    def code(self) -> str:
        """The whole cell's text; empty in a terminal."""
        return str(self._part("content").get("code", ""))

    @property
    def message(self) -> str | None:
        """Id of the message, by which its front end identifies the run."""
        return self._text("header", "msg_id")

    @property
    def cell(self) -> str | None:
        """The notebook's id of the running cell, if the front end sends it."""
        return self._text("metadata", "cellId")

    @property
    def kernel(self) -> str | None:
        """The server's id of this kernel; None if no server started it."""
        file = getattr(getattr(self._kernel, "parent", None), "connection_file", "")
        match = re.fullmatch(r"kernel-(.+)\.json", os.path.basename(file or ""))
        return match[1] if match else None

    def heads_code(self, magic: str) -> bool:
        """Return whether the cell is code below a line that is only this magic.

        Args:
            magic: The line magic, such as %time.
        """
        first, *lines = self.code.strip().splitlines() or [""]
        code = any(line.strip() and not line.lstrip().startswith(("#", "%", "!")) for line in lines)
        return first.strip() == magic and code

    def first_line(self, body: str) -> int:
        """Return the notebook's line number of the line below the magic, which may itself be below `%%time`.

        Args:
            body: Text of the cell without the magic's line.
        """
        raw, body = self.code.rstrip(), body.rstrip()
        above = raw.removesuffix(body)
        return above.count("\n") + 1 if body and above != raw else 2

    def debugger_file(self) -> str:
        """Return the debugger's file name for this cell's text; empty in a terminal.

        The kernel has compiled the cell under that name, a hash of its text, which takes a microsecond a
        character to compute again.
        """
        if self._kernel is None:
            return ""
        from ipykernel.compiler import get_file_name, get_tmp_directory

        from dtrain_lab.debugger.sources import cell_name

        compiled = self._compiled_as()
        return cell_name(compiled if compiled.startswith(get_tmp_directory()) else get_file_name(self.code))

    def _compiled_as(self) -> str:
        """File name of the code of the cell that calls this; empty if no cell does."""
        file = ""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_globals is self._shell.user_ns:  # the outermost: magics run code of their own
                file = frame.f_code.co_filename
            frame = frame.f_back
        return file

    def _part(self, name: str) -> dict[str, Any]:
        return self._kernel.get_parent("shell").get(name, {}) if self._kernel is not None else {}

    def _text(self, part: str, key: str) -> str | None:
        value = self._part(part).get(key)
        return str(value) if value else None
