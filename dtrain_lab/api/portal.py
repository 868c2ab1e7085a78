"""One loop thread for everything that this process asks of heads; sync calls go through it."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import queue
import threading
from collections.abc import Coroutine
from typing import Any, NamedTuple, TypeVar

from dtrain_lab.api import person
from dtrain_lab.backends import signin
from dtrain_lab.backends.signin import Questions
from dtrain_lab.core.kinds import LeaseKind
from dtrain_lab.errors import SignInNeeded
from dtrain_lab.services.jobs import Jobs
from dtrain_lab.services.worlds import Worlds

T = TypeVar("T")
RELEASE_WITHIN_S = 3.0


class Asked(NamedTuple):
    """Questions of a host, and where the answers go; None: nobody answers."""

    questions: Questions
    answers: concurrent.futures.Future[list[str] | None]


class Portal:
    """The loop, its thread, and this process's worlds. Made on first use, and anew after a fork."""

    _instance: Portal | None = None
    _lock = threading.Lock()

    def __init__(self, kind: LeaseKind, notebook: str | None, server: int | None, pid: int | None) -> None:
        self.pid = os.getpid()
        self.worlds = Worlds(kind, notebook=notebook, server=server, pid=pid)
        self._jobs: Jobs | None = None
        self.loop = asyncio.new_event_loop()
        self._listening: list[queue.SimpleQueue[Asked | None]] = []
        """Of the threads that wait, where a person can be asked."""
        signin.asked_by(self.loop, self._ask)
        self._thread = threading.Thread(target=self.loop.run_forever, name="dtrain-portal", daemon=True)
        # a debugger of this process leaves this thread alone: it carries the ranks' debuggers
        self._thread.pydev_do_not_trace = self._thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
        self._thread.start()
        if kind != "terminal":  # its leases are the shell's, which lives on after each command
            atexit.register(self.close)

    @classmethod
    def get(
        cls,
        kind: LeaseKind = "python",
        *,
        notebook: str | None = None,
        server: int | None = None,
        pid: int | None = None,
    ) -> Portal:
        """This process's portal. The arguments count for the first call."""
        with cls._lock:
            if cls._instance is None or cls._instance.pid != os.getpid():
                cls._instance = cls(kind, notebook, server, pid)
            return cls._instance

    @property
    def jobs(self) -> Jobs:
        """Jobs of this user; the index is opened on first use."""
        if self._jobs is None:
            self._jobs = Jobs()
        return self._jobs

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop thread and wait for it; an interrupt cancels it."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "a sync call from the portal's own thread would wait for itself; use the async twin"
            )
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        said: queue.SimpleQueue[Asked | None] = queue.SimpleQueue()
        future.add_done_callback(lambda _: said.put(None))
        if person.is_there():
            self._listening.append(said)
        try:
            while (asked := said.get()) is not None:
                try:
                    asked.answers.set_result(person.ask(asked.questions))
                except BaseException:  # an interrupt, say: the attempt ends, the next one asks anew
                    host = asked.questions.host
                    asked.answers.set_exception(SignInNeeded(f"{host} got no answer.", "Try again."))
                    raise
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise
        finally:
            if said in self._listening:
                self._listening.remove(said)

    async def _ask(self, questions: Questions) -> list[str] | None:
        """A host's questions go to a thread that waits, and has a person before it."""
        if not self._listening:
            return None
        asked = Asked(questions, concurrent.futures.Future())
        self._listening[-1].put(asked)
        return await asyncio.wrap_future(asked.answers)

    def post(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the loop thread; nobody waits for it."""
        asyncio.run_coroutine_threadsafe(work, self.loop)

    async def wrap(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop thread from another loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def close(self) -> None:
        """Give the leases back, in order: this process is done with its clusters."""
        if self.pid != os.getpid() or not self._thread.is_alive():
            return
        future = asyncio.run_coroutine_threadsafe(self.worlds.release(), self.loop)
        try:
            future.result(RELEASE_WITHIN_S)
        except TimeoutError:  # a head that hangs; its pidfd tells it of our end anyway
            future.cancel()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(1.0)
