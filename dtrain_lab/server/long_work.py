"""Work that may outlast its request: supervised, and its end kept for later requests."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Generic, TypeVar

from dtrain_lab.errors import DtrainError, Unreachable
from dtrain_lab.machine import supervision
from dtrain_lab.server.errors import as_ours
from dtrain_lab.wire.site import Error, WorkState

ANSWER_WITHIN_S = 20.0
"""Time within which a request is answered, shorter than the limits of proxies; 202 if the work goes on."""
MOST_KEPT = 100
T = TypeVar("T")
Key = tuple[str, ...]
log = logging.getLogger(__name__)


class Work(Generic[T]):
    """Work of a request. It goes on if the client is gone, and is cancelled when the server stops.

    Args:
        work: The coroutine that does it.
    """

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.id = secrets.token_hex(6)
        self.began_at = time.time()
        self._end: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._end.add_done_callback(lambda end: end.exception())  # mark as retrieved: who asked may be gone
        task = supervision.here().once("server.action", self._carry_out(work))
        task.ended += [work.close, self._cut_off]

    @property
    def state(self) -> WorkState:
        """Whether it runs, and how it has ended."""
        if not self._end.done():
            return "running"
        return "done" if self._end.exception() is None else "failed"

    @property
    def error(self) -> Error | None:
        """Why it has failed; None if it runs or succeeded."""
        error = self._end.exception() if self._end.done() else None
        return None if error is None else Error(**as_ours(error).as_dict())

    def result(self) -> T:
        """Return its result, once it has ended; raises its error."""
        return self._end.result()

    @property
    def end(self) -> asyncio.Future[T]:
        """Done when it has ended."""
        return self._end

    async def within(self, seconds: float) -> bool:
        """Wait for its end, for so many seconds at most; returns whether it has ended."""
        await asyncio.wait({self._end}, timeout=seconds)
        return self._end.done()

    async def _carry_out(self, work: Coroutine[Any, Any, T]) -> None:
        try:
            made = await work
        except DtrainError as error:
            log.info("%s", error)
            self._end.set_exception(error)
        except Exception as error:
            self._end.set_exception(error)
            raise  # counted, and shown to the user
        else:
            self._end.set_result(made)

    def _cut_off(self) -> None:
        if not self._end.done():
            self._end.set_exception(
                Unreachable("The Jupyter server is being stopped.", "Try again once it runs.")
            )


class LongWork:
    """The latest work of each key that requests of this server have begun."""

    def __init__(self) -> None:
        self._latest: dict[Key, Work[Any]] = {}

    def join(self, key: Key, begin: Callable[[], Coroutine[Any, Any, T]]) -> Work[T]:
        """Return the work of a key that runs, or begin it.

        Args:
            key: What is done, and to what: all that changes the result.
            begin: Makes the coroutine that does it.
        """
        known: Work[T] | None = self._latest.get(key)
        if known is not None and known.state == "running":
            return known
        self._latest.pop(key, None)  # the latest last
        made = self._latest[key] = Work(begin())
        ended = [key for key, work in self._latest.items() if work.state != "running"]
        for old in ended[: max(0, len(self._latest) - MOST_KEPT)]:
            del self._latest[old]
        return made

    def latest(self, key: Key) -> Work[Any] | None:
        """Return the latest work of a key; None if there was none."""
        return self._latest.get(key)

    def all(self) -> list[tuple[Key, Work[Any]]]:
        """Return the latest work of each key, the latest last."""
        return list(self._latest.items())


async def one_ended(works: Iterable[Work[Any]]) -> None:
    """Wait until one of these that run has ended, for as long as a request may take at most."""
    running = [work.end for work in works if work.state == "running"]
    if running:
        await asyncio.wait(running, timeout=ANSWER_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
