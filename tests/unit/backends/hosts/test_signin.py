"""Whom an attempt to sign in asks: the user of the loop that connects."""

from __future__ import annotations

import asyncio
import gc

import pytest

from dtrain_lab.backends.hosts import signin
from dtrain_lab.backends.hosts.signin import Questions, SignIn


async def _answers(questions: Questions) -> list[str]:
    return [f"{questions.host}: {one.text}" for one in questions.questions]


def _ask(loop: asyncio.AbstractEventLoop) -> list[str] | None:
    return loop.run_until_complete(SignIn("login1").ask("", "", [("Code: ", False)]))


def test_only_the_loop_that_can_ask_a_person_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signin, "ANSWER_WITHIN_S", 0.0)
    asks, does_not = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        signin.set_asker(asks, _answers)
        assert _ask(asks) == ["login1: Code:"]
        assert _ask(does_not) is None, "the answer has to arrive in another request"
    finally:
        asks.close()
        does_not.close()


def test_a_loop_that_is_gone_leaves_nobody_who_is_asked() -> None:
    before = len(signin._askers)
    loop = asyncio.new_event_loop()
    signin.set_asker(loop, _answers)
    loop.close()
    del loop
    gc.collect()
    assert len(signin._askers) == before
