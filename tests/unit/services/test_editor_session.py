"""An editor's session without ranks: every request is answered, and no stop is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from dtrain_lab.debugger.state import State
from dtrain_lab.machine import supervision
from dtrain_lab.services.debugger import editor as sessions
from dtrain_lab.services.debugger.editor import EditorSession
from tests.unit.debugger.paused_ranks import paused

STOP = {"event": "stopped", "body": {"threadId": 1001}}


class DebugSession:
    """Two paused ranks; a step stops rank 0 at once, and then goes as told."""

    def __init__(self, who: str, heard: Any) -> None:
        self.state = State()
        self.heard = heard
        self.goes: Any = None

    async def begin(self, *_: Any) -> None:
        self.state = replace(paused(2), editor=True)

    async def request(self, request: dict[str, Any]) -> dict[str, Any]:
        self.heard(STOP)
        if isinstance(self.goes, BaseException):
            raise self.goes
        return {**request, "type": "response", "success": True, "body": {}}


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    found: list[BaseException] = []
    monkeypatch.setattr(supervision.Supervisor, "fault", lambda _, name, error: found.append(error))
    return found


def session(said: list[dict[str, Any]], *, error: Exception | None = None) -> EditorSession:
    async def find(_: dict[str, Any]) -> Any:
        if error is not None:
            raise error
        return None, None

    return EditorSession(find, said.append)


@pytest.mark.asyncio
async def test_arguments_that_are_no_object_are_answered(faults: list[BaseException]) -> None:
    said: list[dict[str, Any]] = []
    await session(said).serve({"seq": 7, "command": "initialize", "arguments": [1]})
    assert [(a["type"], a["request_seq"], a["success"]) for a in said] == [("response", 7, False)]
    assert said[0]["message"] == "The arguments of initialize must be an object."
    assert faults == []


@pytest.mark.parametrize(
    "error", [OSError(113, "No route to host"), RuntimeError("closed"), AttributeError("x")], ids=str
)
@pytest.mark.asyncio
async def test_any_error_is_an_answer_and_counted(error: Exception, faults: list[BaseException]) -> None:
    said: list[dict[str, Any]] = []
    await session(said, error=error).serve({"seq": 1, "command": "attach", "arguments": {"cluster": "a"}})
    assert [(a["command"], a["success"], a["message"]) for a in said] == [
        (
            "attach",
            False,
            "attach failed: No route to host. Stderr has the details."
            if isinstance(error, OSError)
            else "attach failed: an error of dtrain-lab's own. Stderr has the details.",
        )
    ]
    assert faults == [error]


@pytest.mark.parametrize("error", [OSError("gone"), AttributeError("x"), asyncio.CancelledError()], ids=repr)
@pytest.mark.asyncio
async def test_a_stop_is_told_also_after_a_step_that_failed(
    error: BaseException, faults: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[DebugSession] = []
    monkeypatch.setattr(sessions, "DebugSession", lambda *given: made.append(DebugSession(*given)) or made[0])
    monkeypatch.setattr(sessions, "Reattach", lambda *_: type("Reattach", (), {"start": lambda _: None})())
    said: list[dict[str, Any]] = []
    editor = session(said)
    await editor.serve({"seq": 1, "command": "attach", "arguments": {}})
    made[0].goes = error
    said.clear()
    step = {"seq": 2, "command": "next", "arguments": {"threadId": 1001}}
    if isinstance(error, asyncio.CancelledError):
        with pytest.raises(asyncio.CancelledError):
            await editor.serve(step)
        assert [m["type"] for m in said] == ["event"]
    else:
        await editor.serve(step)
        assert [m["type"] for m in said] == ["response", "event"], "after the answer, as editors expect it"
    assert said[-1]["event"] == "stopped"
    said.clear()
    made[0].heard(STOP)
    assert [m["event"] for m in said] == ["stopped"], "it is held no more"
