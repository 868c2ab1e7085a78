"""Stops of a rank: which thread has stopped, what clients are told of it, and pauses of the main thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from dtrain_lab.debugger import pydevd_texts
from dtrain_lab.debugger.state import Dap
from dtrain_lab.rank.debugger import interrupt_hold, pause, tracing
from dtrain_lab.rank.debugger.adapter import Adapter
from dtrain_lab.rank.debugger.frames import Frames, place_of
from dtrain_lab.rank.debugger.sources import Refused, Sources
from dtrain_lab.wire.stacks import Frame

FRAMES = 60
HELD_POLL_S, HELD_POLLS = 0.01, 50


class Post(Protocol):
    """Sends an event to the head, with the rank's stop at that time."""

    def __call__(self, event: str, body: Dap) -> None: ...


class Stops:
    """The stop of a rank; used in the debugger's loop, unless said otherwise.

    Args:
        rank: number of this rank.
        adapter: asks pydevd.
        sources: translates paths of cells, and knows where the main thread is.
        begin: runs a coroutine in that loop.
        post: sends an event to the head.
    """

    def __init__(
        self,
        rank: int,
        adapter: Adapter,
        sources: Sources,
        begin: Callable[[Coroutine[Any, Any, None]], None],
        post: Post,
    ) -> None:
        self._rank = rank
        self._adapter = adapter
        self._sources = sources
        self._begin = begin
        self._post = post
        self._main = threading.main_thread().ident or 0
        self.frames = Frames(rank, adapter, sources)
        self.thread: int | None = None
        """The stopped thread, in pydevd's numbering."""
        self.error = ""
        """The error that it has stopped at, as one line; empty for another reason."""
        self.frame: Frame | None = None
        """Its innermost frame of the user's code; None without one, or until pydevd has named it."""
        self.failed = False
        """Whether it is held at the error that has ended its cell."""
        self.any = False
        """Whether the rank has stopped since the cell began."""
        self.ignored = False
        """Whether stops are ignored: since a release, until the next breakpoints, pause or cell."""
        self._pausing = False
        """Whether the next stop is our own pause, which pydevd reports as a breakpoint or a step."""

    def cell_ended(self) -> bool:
        """Called in the main thread at a cell's end. Returns whether the rank stopped in it."""
        stopped, self.any, self.ignored = self.any, False, False
        self.forget_pause()
        return stopped

    def stopped(self, body: Dap) -> None:
        """A thread has stopped: tell the head why and where."""
        self.thread, self.any = body["threadId"], True
        self.error, self.frame = "", None  # those of a stop before, if pydevd did not report its end
        self._begin(self._report(body))

    def run_on(self, body: Dap) -> None:
        """A thread has stopped that is to continue at once."""
        self._begin(self._continue(body["threadId"]))

    def continued(self) -> None:
        """The stopped thread runs on, or is about to."""
        if self.thread is not None:
            self.thread, self.error, self.frame = None, "", None
            self._post("continued", {})

    async def end_for_interrupt(self, thread: int) -> None:
        """End a stop; the main thread is then held until the interrupt that follows.

        Args:
            thread: the stopped thread, in pydevd's numbering.
        """
        main = thread == tracing.thread_number(self._main)
        if main:
            interrupt_hold.expect()
        await self._continue(thread)
        for _ in range(HELD_POLLS if main else 0):  # an interrupt that comes sooner would be raised in pydevd
            if interrupt_hold.holds():
                break
            await asyncio.sleep(HELD_POLL_S)

    async def pause(self) -> Dap:
        """Pause the cell that runs.

        Raises:
            Refused: no cell runs.
        """
        if self.thread is not None:  # already paused, as after a double click on Pause
            return {"success": True}
        self.ignored = False
        for _ in range(2):  # between two statements of a cell, there is no frame: try again
            if self._sources.where(self._main)["place"] is not None:
                break
            await asyncio.sleep(pause.ASK_AGAIN_S)
        else:
            raise Refused(f"Rank {self._rank} is not running a cell.")
        self._pausing = True
        pause.ask(self._main)
        self._begin(pause.ask_until_stopped(self._main))
        return {"success": True}

    def forget_pause(self) -> None:
        """Let the main thread run on if it was asked to pause; called in any thread."""
        self._pausing = False
        pause.forget()

    async def _continue(self, thread: int) -> None:
        await self._adapter.ask("continue", {"threadId": thread})

    async def _report(self, body: Dap) -> None:
        arguments = {"threadId": body["threadId"], "levels": FRAMES}
        stack = await self.frames.stack(self.thread, arguments)
        frames = stack.get("body", {}).get("stackFrames", [])
        self.frames.first = frames[0]["id"] if frames else None
        place = place_of(frames[0]) if frames else None
        if self.thread == body["threadId"]:
            why = "pause" if self._pausing else body.get("reason", "pause")
            self.error = pydevd_texts.stop_error(body) if why == "exception" else ""
            self.frame = self._sources.frame(place) if place is not None else None
            reason = {"reason": why, "text": self.error or body.get("text") or "", "failed": self.failed}
            self._pausing = False
            main = body["threadId"] == tracing.thread_number(self._main)
            self._post("stopped", {**reason, "place": place, "main": main})
