"""Rendezvous store: keys, counters, and calls that wait for keys. Pure."""

from __future__ import annotations

from collections.abc import Callable

from dtrain_lab.wire.links import StoreAnswer, StoreCall

Reply = Callable[[int, StoreAnswer], None]


class Store:
    """The semantics of `dist.Store` for the ranks of one world, without blocking.

    Args:
        reply: called with a rank and the answer to its call, at once or when the call's keys exist.
    """

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._values: dict[str, bytes] = {}
        self._waiting: list[StoreCall] = []

    def call(self, call: StoreCall) -> None:
        """Handle one call; `get` and `wait` are answered once all their keys exist."""
        key = call.keys[0] if call.keys else ""
        values = self._values
        match call.operation:
            case "set":
                self._set(key, call.value)
                self._answer(call)
            case "add":
                total = int(values.get(key, b"0")) + call.amount
                self._set(key, str(total).encode())
                self._answer(call, number=total)
            case "compare_set":
                present = values.get(key)
                if present == call.expected or (present is None and call.expected == b""):
                    self._set(key, call.value)
                self._answer(call, value=values.get(key, call.expected))
            case "check":
                self._answer(call, number=int(self._has(call)))
            case "delete":
                self._answer(call, number=int(values.pop(key, None) is not None))
            case "count":
                self._answer(call, number=len(values))
            case "get" | "wait":
                if self._has(call):
                    self._answer(call, value=values[key] if call.operation == "get" else b"")
                else:
                    self._waiting.append(call)

    def drop(self, prefix: str) -> None:
        """Delete all keys with a prefix, such as those of a past generation."""
        for key in [k for k in self._values if k.startswith(prefix)]:
            del self._values[key]

    def forget(self, rank: int) -> None:
        """Discard the waiting calls of a rank that is gone."""
        self._waiting = [c for c in self._waiting if c.rank != rank]

    def _has(self, call: StoreCall) -> bool:
        return all(key in self._values for key in call.keys)

    def _set(self, key: str, value: bytes) -> None:
        self._values[key] = value
        ready = [c for c in self._waiting if key in c.keys and self._has(c)]
        if ready:
            self._waiting = [c for c in self._waiting if c not in ready]
            for call in ready:
                self._answer(call, value=self._values[call.keys[0]] if call.operation == "get" else b"")

    def _answer(self, call: StoreCall, value: bytes = b"", number: int = 0) -> None:
        self._reply(call.rank, StoreAnswer(id=call.id, value=value, number=number))
