"""What a job and a sweep have in common in Python: each runs by itself, and its state is read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from dtrain_lab.api.portal import Portal
from dtrain_lab.errors import DtrainError
from dtrain_lab.wire.codec.encode import as_json
from dtrain_lab.wire.jobs.job import Job
from dtrain_lab.wire.sweeps import Sweep

Info = TypeVar("Info", Job, Sweep)


class Submitted(Generic[Info]):
    """A job or sweep, which runs independently of this process.

    Args:
        portal: This process's portal.
        info: Last seen state.
    """

    def __init__(self, portal: Portal, info: Info) -> None:
        self._portal = portal
        self._last: Info = info

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._last.name} {self._last.id}: {self._last.summary.text}>"

    @property
    def id(self) -> str:
        """Its unique id."""
        return self._last.id

    @property
    def name(self) -> str:
        """Its name."""
        return self._last.name

    @property
    def last_info(self) -> Info:
        """The state that was last read."""
        return self._last

    def snapshot(self) -> Info:
        """Return the complete current state as a typed value."""
        self._last = self._portal.call(self._read())
        return self._last

    def info(self) -> dict[str, Any]:
        """Return the complete current state as a dict, as REST and `--json` report it."""
        return as_json(self.snapshot())

    def wait(self, timeout: float | None = None, on_change: Callable[[Info], None] | None = None) -> str:
        """Wait for the end.

        Args:
            timeout: Seconds; None for no limit.
            on_change: Called with the state at each poll.

        Returns:
            The final state.

        Raises:
            TimeoutError: It has not ended in time.
        """

        async def ended() -> Info:
            try:
                async with asyncio.timeout(timeout):
                    return await self._until_ended(on_change)
            except TimeoutError:
                raise TimeoutError(f"{self._last.name} has not ended in {timeout:g} s.") from None

        self._last = self._portal.call(ended())
        return self._last.state

    def _read(self) -> Coroutine[Any, Any, Info]:
        """Return its current state; in the portal's loop."""
        raise NotImplementedError

    def _until_ended(self, on_change: Callable[[Info], None] | None) -> Coroutine[Any, Any, Info]:
        """Return its state once that is final; in the portal's loop."""
        raise NotImplementedError


def in_python(hint: str, identity: str) -> str:
    """Return a hint with the methods of a job or sweep in place of the terminal's commands for it.

    Args:
        hint: The hint, as in "Cancel it first: dtrain-lab job cancel 3f2a".
        identity: Id of the job or sweep; commands for another one stay, and those that are no methods.
    """
    command = rf"dtrain-lab (job|sweep) (cancel|delete|resume|stop) {re.escape(identity)}\b(?: --(force)\b)?"
    return re.sub(command, lambda match: f"{match[1]}.{match[2]}({'force=True' if match[3] else ''})", hint)


@contextmanager
def own_methods(portal: Portal, identity: str) -> Iterator[None]:
    """Word the hint of an error in the block for a Python program; a terminal keeps its commands.

    Args:
        portal: The portal of this process.
        identity: Id of the job or sweep at hand.

    Raises:
        DtrainError: The error.
    """
    try:
        yield
    except DtrainError as error:
        if portal.kind != "terminal":
            error.hint = in_python(error.hint, identity)
        raise
