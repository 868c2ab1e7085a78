"""Asynchronous access to the index of jobs: a thread of its own runs the blocking calls."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from jupyter_core.paths import jupyter_data_dir

from dtrain_lab.errors import Unreachable
from dtrain_lab.services.index import rebuild
from dtrain_lab.services.index.store import Store

P = ParamSpec("P")
T = TypeVar("T")
PATIENT_S = 5.0
"""If a call fails, calls that were queued at least this long before the failure fail with it."""


def usual() -> Store:
    """Return this user's index; its file is not opened yet."""
    return Store(Path(jupyter_data_dir()) / "dtrain-lab" / "jobs.sqlite", rebuild.nearby)


class _Question(NamedTuple):
    """A queued call. `at`: monotonic time at which it was queued."""

    work: Callable[[], Any]
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    at: float


class Index:
    """Runs a store's calls in one daemon thread, so that a locked or remote file blocks no event loop.

    A daemon thread does not delay the exit of the process, as the threads of a pool would.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._questions: queue.SimpleQueue[_Question] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def ask(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Call a method of the store in the thread.

        Args:
            work: The method.
            *args: Its arguments.
            **named: Its keyword arguments.

        Returns:
            The method's result.

        Raises:
            Unreachable: The file can't be used.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="dtrain-index", daemon=True)
            self._thread.start()
        self._questions.put(_Question(partial(work, *args, **named), answer, loop, time.monotonic()))
        return await answer

    def _serve(self) -> None:
        refused: Unreachable | None = None
        refused_at = 0.0
        while True:
            question = self._questions.get()
            if question.answer.cancelled():
                continue
            made: Any = None
            error: Exception | None = None
            if refused is not None and question.at < refused_at - PATIENT_S:
                # it has waited for the failed call already: don't make it wait for the same timeout again
                error = Unreachable(refused.message, refused.hint, code=refused.code)
            else:
                try:
                    made = question.work()
                except Unreachable as unreachable:
                    error = refused = unreachable
                    refused_at = time.monotonic()
                except Exception as other:  # noqa: BLE001 # passed to the caller
                    error = other
            with contextlib.suppress(RuntimeError):  # its loop is closed
                question.loop.call_soon_threadsafe(_resolve, question.answer, made, error)


def _resolve(answer: asyncio.Future[Any], made: Any, error: Exception | None) -> None:
    if answer.cancelled():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(made)
