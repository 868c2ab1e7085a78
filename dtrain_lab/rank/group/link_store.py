"""The rendezvous store of torch.distributed over the link to the head; opens no port."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from dtrain_lab.wire.links import StoreAnswer, StoreCall

DEFAULT_TIMEOUT = timedelta(seconds=300)
GIVEN_UP = "the connection of the ranks was given up"


class Aborted(RuntimeError):
    """The head gave up this generation while a rank waited for its peers."""


class _Pending:
    """A call that waits for its answer."""

    def __init__(self) -> None:
        self.answer: StoreAnswer | None = None
        # not an `Event`: a waiter may hold its internal lock while a signal handler runs
        self._waits = threading.Lock()
        self._waits.acquire()

    def wait(self, seconds: float) -> bool:
        """Wait for the answer or an abort; False after the time-out."""
        return self._waits.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX))

    def over(self) -> None:
        """Wake the thread that waits; called once."""
        self._waits.release()


class _Forming:
    """The forming of one generation."""

    given_up = False


class PendingCalls:
    """Pending calls of the store. Any thread makes them; the thread that reads orders delivers answers.

    There is no lock: a signal handler of the user's may make a call amid another one of its thread, and wait
    for the answer, which the reading thread must be able to deliver.

    Args:
        rank: number of this rank.
        send: hands a message to the link; safe from every thread.
    """

    def __init__(self, rank: int, send: Callable[[StoreCall], None]) -> None:
        self._rank = rank
        self._send = send
        self._pending: dict[int, _Pending] = {}
        """By number of the call. The thread that removes a call wakes the one that waits for it."""
        self._numbers = itertools.count(1)
        self._forming: _Forming | None = None

    def ask(self, timeout: timedelta, **fields: Any) -> StoreAnswer:
        """Send a call to the head and wait for the answer.

        Args:
            timeout: longest time to wait.
            **fields: fields of the `StoreCall`.

        Returns:
            The head's answer.

        Raises:
            dist.DistStoreError: no answer within the time-out.
            Aborted: the head gave this generation up.
        """
        pending, number = _Pending(), next(self._numbers)
        self._pending[number] = pending
        try:
            forming = self._forming  # read only now that an abort would wake this call
            if forming is not None and forming.given_up:
                raise Aborted(GIVEN_UP)
            self._send(StoreCall(rank=self._rank, id=number, **fields))
            if not pending.wait(timeout.total_seconds()):
                keys = ", ".join(fields.get("keys", ()))
                raise dist.DistStoreError(f"waited {timeout.total_seconds():.0f} s for {keys}")
        finally:
            self._pending.pop(number, None)
        if pending.answer is None:
            raise Aborted(GIVEN_UP)
        return pending.answer

    def answered(self, answer: StoreAnswer) -> None:
        """Deliver an answer to the thread that waits for it."""
        pending = self._pending.pop(answer.id, None)
        if pending is not None:
            pending.answer = answer
            pending.over()

    def forming(self, begins: bool) -> None:
        """Note that a generation is about to be formed, or that its forming has ended."""
        self._forming = _Forming() if begins else None

    def abort(self) -> None:
        """Wake all waiting threads without an answer; their calls raise `Aborted`.

        While a generation is formed, later calls raise it, too: the main thread may not wait yet.
        """
        forming = self._forming
        if forming is not None:
            forming.given_up = True
        with contextlib.suppress(KeyError):  # `_pending` is empty
            while True:
                self._pending.popitem()[1].over()


class LinkStore(dist.Store):  # type: ignore[misc]
    """`dist.Store` whose calls go to the head over the link.

    Each call raises what `PendingCalls.ask` raises.

    Args:
        calls: sends the calls.
    """

    def __init__(self, calls: PendingCalls) -> None:
        super().__init__()
        self._calls = calls
        self._timeout = DEFAULT_TIMEOUT

    def set(self, key: str, value: bytes | str) -> None:
        """Set `key` to `value`."""
        self._ask("set", (key,), value=_bytes(value))

    def get(self, key: str) -> bytes:
        """Wait for a key and return its value."""
        return self._ask("get", (key,)).value

    def add(self, key: str, amount: int) -> int:
        """Add `amount` to the counter `key`; returns its new value."""
        return self._ask("add", (key,), amount=amount).number

    def compare_set(self, key: str, expected: bytes | str, desired: bytes | str) -> bytes:
        """Set a key if it has the expected value.

        Args:
            key: The key.
            expected: Value that it must have; an empty one if the key must not exist yet.
            desired: The new value.

        Returns:
            The value that the key then has.
        """
        return self._ask("compare_set", (key,), value=_bytes(desired), expected=_bytes(expected)).value

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all of these keys exist."""
        return bool(self._ask("check", tuple(keys)).number)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all of these keys exist, by default for `timeout` of the store."""
        self._ask("wait", tuple(keys), within=timeout)

    def delete_key(self, key: str) -> bool:
        """Delete a key; returns whether it existed."""
        return bool(self._ask("delete", (key,)).number)

    def num_keys(self) -> int:
        """Number of keys in the store."""
        return self._ask("count", ()).number

    # the names by which torch's C++ code calls them, such as PrefixStore
    deleteKey = delete_key
    getNumKeys = num_keys

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait by default."""
        self._timeout = timeout

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait by default."""
        return self._timeout

    def clone(self) -> LinkStore:
        """This same store, because its calls are safe from every thread."""
        return self

    def _ask(
        self, operation: str, keys: tuple[str, ...], within: timedelta | None = None, **fields: Any
    ) -> StoreAnswer:
        return self._calls.ask(within or self._timeout, operation=operation, keys=keys, **fields)


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
