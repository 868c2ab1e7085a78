"""Requests that pydevd answers, in the form that it needs: for the stopped thread, with its own paths."""

from __future__ import annotations

from dtrain_lab.debugger.state import Dap
from dtrain_lab.rank.debugger.adapter import RESUMES, Adapter
from dtrain_lab.rank.debugger.last_failure import LastFailure
from dtrain_lab.rank.debugger.sources import Refused, Sources
from dtrain_lab.rank.debugger.stops import Stops

OF_STOPPED = {*RESUMES, "exceptionInfo", "stackTrace", "scopes", "variables", "setVariable", "evaluate"}
OF_STOPPED |= {"completions"}


class PydevdRequests:
    """Passes requests on to pydevd.

    Args:
        rank: number of this rank.
        adapter: pydevd's.
        sources: maps files of compiled code to cells.
        stops: where the main thread is stopped.
        failure: which exceptions stop it.
    """

    def __init__(
        self, rank: int, adapter: Adapter, sources: Sources, stops: Stops, failure: LastFailure
    ) -> None:
        self._rank = rank
        self._adapter = adapter
        self._sources = sources
        self._stops = stops
        self._failure = failure

    async def ask(self, command: str, arguments: Dap) -> Dap:
        """Pass a request on to pydevd, and return its answer with paths of cells.

        Args:
            command: the request's command.
            arguments: its arguments, as a client has sent them.

        Raises:
            Refused: the request is about a stopped thread, and this rank is not paused.
        """
        thread = self._stops.thread
        match command:
            case "evaluate" if thread is not None and arguments.get("frameId") is None:
                arguments = {**arguments, "frameId": self._stops.frames.innermost}
            case "setExceptionBreakpoints":
                arguments = {**arguments, "filters": self._failure.filter(arguments["filters"])}
        if command in OF_STOPPED and thread is None:
            # pydevd would queue the request for the thread, which answers only at its next stop
            raise Refused(f"Rank {self._rank} is not paused.")
        if command in RESUMES or command == "exceptionInfo":
            arguments = {**arguments, "threadId": thread}
        if command in RESUMES:  # pydevd sends no event when a post-mortem stop ends
            self._stops.continued()
        return self._sources.outward(await self._adapter.ask(command, self._sources.inward(arguments)))
