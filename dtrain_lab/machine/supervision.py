"""Supervises background tasks: each has a name, and no failure goes unreported.

An exception in a loop is logged with its traceback and counted, and the loop is restarted. An exception in a
one-off task is logged and counted, too, and reported to a callback. One supervisor per event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal

from dtrain_lab.errors import DtrainError
from dtrain_lab.machine import backoff
from dtrain_lab.machine.task_names import LOOPS, ONCE
from dtrain_lab.wire.loop_failures import InternalFailure

log = logging.getLogger("dtrain_lab.supervision")
ATTRIBUTE = "_dtrain_supervisor"
OnFailure = Callable[[tuple[InternalFailure, ...]], None]


class BackgroundTask:
    """A background task."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.task: asyncio.Task[None] | None = None
        self._cancelled = False
        self.ended: list[Callable[[], None]] = []
        """Called when the task ends, even if it was cancelled before it began."""

    def cancel(self) -> None:
        """Cancel the task."""
        self._cancelled = True
        if self.task is not None:
            self.task.cancel()

    async def wait(self) -> None:
        """Wait until the task has ended."""
        while not self.done:
            if self.task is not None:
                await asyncio.wait({self.task})
            else:  # it starts in the next loop iteration
                await asyncio.sleep(0)

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    @property
    def done(self) -> bool:
        """Whether the task has ended."""
        return self.task.done() if self.task is not None else self._cancelled


class Supervisor:
    """Holds all background tasks of an event loop in one `asyncio.TaskGroup`.

    Each task catches its exceptions, so that none ends the others. Create it inside the loop, see `here`.
    """

    def __init__(self) -> None:
        self.on_failure: list[OnFailure] = []
        self._failures: dict[str, InternalFailure] = {}
        self._group: asyncio.TaskGroup | None = None
        self._waiting: list[tuple[BackgroundTask, Coroutine[Any, Any, None]]] = []
        self._handles: set[BackgroundTask] = set()
        self._over = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._supervising = loop.create_task(self._supervise(), name="dtrain supervisor")

    @property
    def failures(self) -> tuple[InternalFailure, ...]:
        """Failures so far, the latest first."""
        return tuple(sorted(self._failures.values(), key=lambda t: -t.at))

    @property
    def names(self) -> frozenset[str]:
        """Names of running tasks."""
        return frozenset(handle.name for handle in self._handles)

    def start_loop(self, name: str, work: Callable[[], Awaitable[None]]) -> BackgroundTask:
        """Run a loop until it returns or is cancelled; after an exception it is restarted with back-off.

        Args:
            name: One of `task_names.LOOPS`.
            work: Called for each start.

        Raises:
            KeyError: The name is unknown.
        """
        if name not in LOOPS:
            raise KeyError(name)
        handle = BackgroundTask(name)
        return self._begin(handle, self._run_loop(handle, work))

    def once(
        self,
        name: str,
        work: Coroutine[Any, Any, Any],
        failed: Callable[[Exception], None] | None = None,
    ) -> BackgroundTask:
        """Run a one-off task in the background.

        Args:
            name: One of `task_names.ONCE`.
            work: The coroutine to run.
            failed: Called with an exception that escapes from it, to report it where people read it.

        Raises:
            KeyError: The name is unknown.
        """
        if name not in ONCE:
            raise KeyError(name)
        handle = BackgroundTask(name)
        handle.ended.append(work.close)
        return self._begin(handle, self._once(handle, work, failed))

    def fault(self, name: str, error: BaseException) -> None:
        """Log and count a caught error after which work continues.

        Args:
            name: Name of the place, one of those in `task_names`.
            error: The caught exception.
        """
        log.error("%s failed: %s", name, say(error), exc_info=error)
        self._note(name, error)

    def own_loop(self) -> None:
        """Also count exceptions from callbacks of the loop; for processes that are wholly ours."""
        asyncio.get_running_loop().set_exception_handler(self._escaped)

    async def close(self) -> None:
        """Cancel all tasks."""
        self._over.set()
        for handle in list(self._handles):
            handle.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(self._supervising)
        loop = asyncio.get_running_loop()
        if getattr(loop, ATTRIBUTE, None) is self:
            delattr(loop, ATTRIBUTE)

    # ----

    def _begin(self, handle: BackgroundTask, work: Coroutine[Any, Any, None]) -> BackgroundTask:
        self._handles.add(handle)
        if self._group is not None:
            self._start(self._group, handle, work)
        else:  # the group opens in the next loop iteration
            self._waiting.append((handle, work))
        return handle

    def _start(
        self, group: asyncio.TaskGroup, handle: BackgroundTask, work: Coroutine[Any, Any, None]
    ) -> None:
        if handle.cancelled:
            work.close()
            self._over_with(handle)
            return
        handle.task = group.create_task(work, name=f"dtrain {handle.name}")
        handle.task.add_done_callback(lambda _: self._over_with(handle))

    def _over_with(self, handle: BackgroundTask) -> None:
        self._handles.discard(handle)
        for end in handle.ended:
            end()

    async def _supervise(self) -> None:
        async with asyncio.TaskGroup() as group:
            waiting, self._waiting = self._waiting, []
            for handle, work in waiting:
                self._start(group, handle, work)
            self._group = group
            await self._over.wait()

    async def _run_loop(self, handle: BackgroundTask, work: Callable[[], Awaitable[None]]) -> None:
        state = backoff.LoopState()
        while True:
            state, _ = backoff.step(state, backoff.Began(time.monotonic()))
            try:
                await _run(handle.name, work)
                return
            except asyncio.CancelledError as error:
                if _is_told_to_end(handle):
                    raise
                failure: BaseException = error  # cancelled by what it awaited, not by us
            except Exception as error:  # noqa: BLE001 # whatever a loop raises, it is begun again
                if _is_told_to_end(handle):  # its clean-up failed; it ends nevertheless
                    log.warning("%s failed during its clean-up: %s", handle.name, say(error))
                    return
                failure = error
            state, again_s = backoff.step(state, backoff.Failed(time.monotonic()))
            assert again_s is not None
            text = "%s failed; restarting it in %.1f s (restart %d): %s"
            log.error(text, handle.name, again_s, state.restarts, say(failure), exc_info=failure)
            self._note(handle.name, failure)
            await asyncio.sleep(again_s)

    async def _once(
        self,
        handle: BackgroundTask,
        work: Coroutine[Any, Any, Any],
        failed: Callable[[Exception], None] | None,
    ) -> None:
        try:
            await _run(handle.name, lambda: work)
        except asyncio.CancelledError:
            if _is_told_to_end(handle):
                raise
            log.warning("%s was cancelled by what it waited for", handle.name)
        except Exception as error:  # noqa: BLE001 # nobody awaits this task: its error is reported here
            if isinstance(error, DtrainError):  # an expected error, not a bug of ours
                log.warning("%s: %s", handle.name, say(error))
            else:
                self.fault(handle.name, error)
            if failed is not None:
                failed(error)

    def _escaped(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is None:
            log.warning("%s", context.get("message"))
        else:
            log.error("%s: %s", context.get("message"), say(error), exc_info=error)
            self._note("callback", error)

    def _note(self, name: str, error: BaseException) -> None:
        self._failures[name] = noted(self._failures.get(name), name, say(error), time.time())
        for hear in self.on_failure:
            try:
                hear(self.failures)
            except Exception:
                log.exception("the failure of %s could not be reported", name)


def here() -> Supervisor:
    """The supervisor of the running loop; created on first use."""
    loop = asyncio.get_running_loop()
    supervisor: Supervisor | None = getattr(loop, ATTRIBUTE, None)
    if supervisor is None:
        supervisor = Supervisor()
        setattr(loop, ATTRIBUTE, supervisor)
    return supervisor


def noted(before: InternalFailure | None, name: str, message: str, at: float) -> InternalFailure:
    """Count one more failure of background work.

    Args:
        before: Its failures so far; None for the first one.
        name: Name of the work.
        message: The error.
        at: Time of the failure, in seconds since 1970.

    Raises:
        KeyError: `name` is in neither `LOOPS` nor `ONCE`.
    """
    kind: Literal["restarted", "failed"] = "restarted" if name in LOOPS else "failed"
    doing = LOOPS[name] if name in LOOPS else ONCE[name]
    return InternalFailure(name, doing, kind, (before.times if before else 0) + 1, message, at)


def say(error: BaseException) -> str:
    """An error as one short line, for logs and messages."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    return f"{name}: {text[:300]}" if text else name


async def _run(name: str, work: Callable[[], Awaitable[Any]]) -> None:
    """Run the work; a separate function so that tests can inject failures by name."""
    await work()


def _is_told_to_end(handle: BackgroundTask) -> bool:
    task = asyncio.current_task()
    return handle.cancelled or (task is not None and task.cancelling() > 0)
