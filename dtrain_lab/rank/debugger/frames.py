"""Frames of a stopped rank: its stack, and values of expressions in one of its frames."""

from __future__ import annotations

import ast
import importlib.util
import json

from dtrain_lab.debugger import pydevd_texts
from dtrain_lab.debugger.sources import CELL, is_ours
from dtrain_lab.debugger.state import Dap
from dtrain_lab.rank.debugger.adapter import Adapter
from dtrain_lab.rank.debugger.sources import Refused, Sources


class Frames:
    """Reads the frames of a stopped rank.

    Args:
        rank: number of this rank.
        adapter: asks pydevd.
        sources: translates paths of cells.
    """

    def __init__(self, rank: int, adapter: Adapter, sources: Sources) -> None:
        self._rank = rank
        self._adapter = adapter
        self._sources = sources
        self.first: int | None = None
        """Id of the last stop's innermost frame; None if it had none."""

    async def stack(self, thread: int | None, arguments: Dap) -> Dap:
        """Return the stack of a stopped thread, without frames outside the user's code.

        Args:
            thread: in pydevd's numbering; None while none is stopped.
            arguments: those of `stackTrace`.

        Raises:
            Refused: no thread is stopped.
        """
        if thread is None:
            raise Refused(f"Rank {self._rank} is not paused.")
        answer = await self._adapter.ask("stackTrace", {**arguments, "threadId": thread})
        answer = self._sources.outward(answer)
        frames = answer.get("body", {}).get("stackFrames", [])
        # frames outside the outermost cell are IPython's and ipykernel's, or a job's runner's
        last = max(
            (i for i, f in enumerate(frames) if f["source"].get("path", "").startswith(CELL)), default=None
        )
        frames = frames[: last + 1] if last is not None else [f for f in frames if not is_ours(f["source"])]
        if frames:
            answer["body"] = {"stackFrames": frames, "totalFrames": len(frames)}
        return answer

    async def summary_of(self, expression: str, leaf: str | None) -> Dap:
        """Return the summary of an expression's value in the innermost frame.

        Args:
            expression: code of the user's.
            leaf: path of a leaf whose numbers are wanted; None for the summary.

        Raises:
            Refused: the expression can't be evaluated, or the rank has no frame.
        """
        frame = self.innermost
        # environments of other frameworks have no torch
        summary = "value_summary" if importlib.util.find_spec("torch") else "plain_summary"
        module = f"__import__('dtrain_lab.rank.debugger.values.{summary}', fromlist=['glance'])"
        call = f"{module}.glance(({expression}\n), {leaf!r})"
        answer = await self._adapter.ask(
            "evaluate", {"expression": call, "frameId": frame, "context": "clipboard"}
        )
        if not answer["success"]:
            raise Refused(pydevd_texts.last_line(str(answer.get("message", ""))))
        try:
            return {"success": True, "body": json.loads(ast.literal_eval(answer["body"]["result"]))}
        except (ValueError, SyntaxError):  # pydevd answers with the error's text
            raise Refused(pydevd_texts.error_of(answer["body"]["result"])) from None

    @property
    def innermost(self) -> int:
        """Id of the innermost frame of the last stop.

        Raises:
            Refused: the rank has no frame.
        """
        if self.first is None:
            raise Refused(f"Rank {self._rank} has no frame to look at.")
        return self.first


def place_of(frame: Dap) -> Dap:
    """Return file, line and function of a frame."""
    return {"file": frame["source"].get("path", ""), "line": frame["line"], "function": frame["name"]}
