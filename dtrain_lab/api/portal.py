"""The portal: one event-loop thread for all connections of this process, through which sync calls run."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from dtrain_lab.api import prompts
from dtrain_lab.backends.hosts import signin
from dtrain_lab.backends.hosts.signin import Questions
from dtrain_lab.errors import DtrainError, SignInNeeded, Unreachable
from dtrain_lab.machine import supervision
from dtrain_lab.services.bug_report import process_log
from dtrain_lab.services.jobs.jobs import Jobs
from dtrain_lab.services.sweeps.sweeps import Sweeps
from dtrain_lab.services.worlds.worlds import Worlds
from dtrain_lab.wire.kinds import LeaseKind

T = TypeVar("T")
RELEASE_WITHIN_S = 3.0


class SignInQuestions(NamedTuple):
    """Questions of a host, with a future for the answers; its result is None if there are no answers."""

    questions: Questions
    answers: concurrent.futures.Future[list[str] | None]


class _Call(Generic[T]):
    """A coroutine that runs in the loop's thread.

    Args:
        loop: The loop.
        work: The coroutine.
        ended: Called in the loop's thread once the coroutine has ended, its clean-up included.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], ended: Callable[[], object]
    ) -> None:
        self._loop, self._work, self._ended = loop, work, ended
        self._task: asyncio.Task[T] | None = None
        self.result: concurrent.futures.Future[T] = concurrent.futures.Future()
        self.result.set_running_or_notify_cancel()  # so that only the coroutine's end decides it

    def begin(self) -> None:
        """Run the coroutine."""
        self._loop.call_soon_threadsafe(self._begin)

    def cancel(self) -> None:
        """Cancel the coroutine, which then cleans up."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._work)
        self._task.add_done_callback(self._over)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:  # its caller was interrupted before it had begun it
            self._work.close()
            self.result.set_exception(concurrent.futures.CancelledError())
            self._ended()

    def _over(self, task: asyncio.Task[T]) -> None:
        error = concurrent.futures.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self.result.set_exception(error)
        else:
            self.result.set_result(task.result())
        self._ended()


class Portal:
    """The loop, its thread, and this process's worlds. Created on first use, and again after a fork."""

    _usual: LeaseKind = "python"
    """Kind of a portal that is asked for without one."""
    _instance: Portal | None = None
    _lock = threading.Lock()

    def __init__(self, kind: LeaseKind, notebook: str | None, server: int | None, pid: int | None) -> None:
        self.pid, self.kind = os.getpid(), kind
        self.worlds = Worlds(kind, notebook=notebook, server=server, pid=pid)
        self._jobs: Jobs | None = None
        self._sweeps: Sweeps | None = None
        self.loop = asyncio.new_event_loop()
        self._listening: list[queue.SimpleQueue[SignInQuestions | None]] = []
        """Queues of waiting threads in which the user can be asked."""
        signin.set_asker(self.loop, self._ask)
        self._thread = threading.Thread(target=self.loop.run_forever, name="dtrain-portal", daemon=True)
        # a debugger of this process must not stop this thread, which carries the ranks' debuggers
        self._thread.pydev_do_not_trace = self._thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
        process_log.begin(kind)
        self._thread.start()
        self.loop.call_soon_threadsafe(self._own_loop, kind)
        if kind != "terminal":  # a terminal's leases belong to the shell, which outlives each command
            atexit.register(self.close)

    @staticmethod
    def _own_loop(kind: LeaseKind) -> None:
        supervision.here().own_loop()
        process_log.watch(kind)

    @classmethod
    def get(
        cls,
        kind: LeaseKind | None = None,
        *,
        notebook: str | None = None,
        server: int | None = None,
        pid: int | None = None,
    ) -> Portal:
        """Return this process's portal. The arguments only take effect in the first call.

        Args:
            kind: What holds the leases of clusters that it starts; by default "python", or what `usually`
                has set.
            notebook: Path of the notebook, for a kernel.
            server: Process id of the Jupyter server, for a kernel.
            pid: Process whose end ends the leases; by default this one.
        """
        with cls._lock:
            if cls._instance is None or cls._instance.pid != os.getpid():
                cls._instance = cls(kind or cls._usual, notebook, server, pid)
            return cls._instance

    @classmethod
    @contextlib.contextmanager
    def usually(cls, kind: LeaseKind) -> Iterator[None]:
        """Let a portal that is created in the block, without a kind, have this one."""
        before, cls._usual = cls._usual, kind
        try:
            yield
        finally:
            cls._usual = before

    @property
    def jobs(self) -> Jobs:
        """Jobs of this user; the index is opened on first use."""
        if self._jobs is None:
            self._jobs = Jobs()
        return self._jobs

    @property
    def sweeps(self) -> Sweeps:
        """Sweeps of this user."""
        if self._sweeps is None:
            self._sweeps = Sweeps(self.jobs)
        return self._sweeps

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop thread and wait for it.

        An interrupt cancels it, and waits until it has cleaned up; a second interrupt does not wait.

        Raises:
            RuntimeError: It was called in the loop's own thread, which would wait for itself.
            Unreachable: This process is ending.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "a sync call from the portal's own thread would wait for itself; use the async twin"
            )
        if self.loop.is_closed():  # as this process ends
            work.close()
            raise Unreachable("This process is ending.", code="ended")
        said: queue.SimpleQueue[SignInQuestions | None] = queue.SimpleQueue()
        call = _Call(self.loop, work, lambda: said.put(None))
        if prompts.is_there():
            self._listening.append(said)
        try:
            call.begin()
            while (asked := said.get()) is not None:
                try:
                    asked.answers.set_result(prompts.ask(asked.questions))
                except BaseException:  # such as an interrupt: this attempt fails, the next one asks again
                    host = asked.questions.host
                    asked.answers.set_exception(SignInNeeded(f"{host} got no answer.", "Try again."))
                    raise
            return call.result.result()
        except DtrainError as error:
            # its message is for the user, to whom the frames of our loop say nothing
            raise error.with_traceback(None) from None
        except KeyboardInterrupt:
            call.cancel()
            # where it has ended already, its end may have been read before the interrupt
            while not call.result.done() and (asked := said.get()) is not None:
                asked.answers.set_result(None)
            raise
        finally:
            if said in self._listening:
                self._listening.remove(said)

    async def _ask(self, questions: Questions) -> list[str] | None:
        """Pass a host's questions to a waiting thread that can ask the user; None if there is none."""
        if not self._listening:
            return None
        asked = SignInQuestions(questions, concurrent.futures.Future())
        self._listening[-1].put(asked)
        return await asyncio.wrap_future(asked.answers)

    def post(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the loop thread without waiting for it."""
        self.loop.call_soon_threadsafe(self._begin, work)

    def _begin(self, work: Coroutine[Any, Any, Any]) -> None:
        supervision.here().once("client.task", work)

    async def wrap(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop thread from another loop; a cancellation waits for its clean-up."""
        call = _Call(self.loop, work, lambda: None)
        try:
            call.begin()
            return await asyncio.wrap_future(call.result)
        except asyncio.CancelledError:
            call.cancel()
            await asyncio.wait([asyncio.wrap_future(call.result)])
            raise

    def close(self) -> None:
        """Release the leases: this process is done with its clusters."""
        if self.pid != os.getpid() or not self._thread.is_alive():
            return
        future = asyncio.run_coroutine_threadsafe(self.worlds.release(), self.loop)
        try:
            future.result(RELEASE_WITHIN_S)
        except TimeoutError:  # the head hangs; its pidfd will report this process's end
            future.cancel()
        self.loop.call_soon_threadsafe(self._stop)
        self._thread.join(1.0)

    def _stop(self) -> None:
        """Cancel all background tasks, then stop the loop."""
        closing = self.loop.create_task(supervision.here().close())
        closing.add_done_callback(lambda _: self.loop.stop())
