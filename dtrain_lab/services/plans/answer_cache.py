"""A short-lived cache of answers, so that typing in a form does not ask hosts and environments repeatedly."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from dtrain_lab.errors import DtrainError, SignInNeeded

T = TypeVar("T")
GOOD_FOR_S = 60.0
REFUSED_FOR_S = 10.0
"""Errors are cached for this long, except `SignInNeeded`, which is not cached."""


class AnswerCache:
    """Cache of answers by question.

    Args:
        good_for_s: Lifetime of an answer, in seconds.
    """

    def __init__(self, good_for_s: float = GOOD_FOR_S) -> None:
        self._good_for_s = good_for_s
        self._answers: dict[Hashable, tuple[float, Any]] = {}
        self._asking: dict[Hashable, asyncio.Lock] = {}

    async def ask(self, question: Hashable, how: Callable[[], Awaitable[T]]) -> T:
        """Return the cached answer to a question, or ask.

        Args:
            question: Key of the answer.
            how: Gets the answer.

        Raises:
            DtrainError: The error that `how` raised, possibly cached.
        """
        # two previews at once wait for one answer
        lock = self._asking.setdefault(question, asyncio.Lock())
        try:
            async with lock:
                answer = self._answer(question)
                if answer is None:
                    answer = await self._first(question, how)
        finally:
            self._asking.pop(question, None)
        if isinstance(answer, DtrainError):
            raise answer
        cached: T = answer
        return cached

    def _answer(self, question: Hashable) -> Any:
        """Return the cached answer; None if there is none or it is too old."""
        now = time.monotonic()
        self._answers = {key: entry for key, entry in self._answers.items() if entry[0] > now}
        _, answer = self._answers.get(question, (now, None))
        return answer

    async def _first(self, question: Hashable, how: Callable[[], Awaitable[T]]) -> T:
        try:
            answer = await how()
        except SignInNeeded:
            raise
        except DtrainError as error:
            self._answers[question] = time.monotonic() + REFUSED_FOR_S, error
            raise
        self._answers[question] = time.monotonic() + self._good_for_s, answer
        return answer

    def forget(self) -> None:
        """Drop all answers: after an action, or when the user asks for current ones."""
        self._answers.clear()
