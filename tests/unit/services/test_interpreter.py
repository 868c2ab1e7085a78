"""Another interpreter of this machine: asked with a time limit, and gone when nobody waits for it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from dtrain_lab.backends.local import interpreter
from dtrain_lab.errors import EnvironmentUnfit
from dtrain_lab.services.profiles import environment
from dtrain_lab.wire.profile import Environment

SLEEPS = """import os, pathlib, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"])
pathlib.Path({0!r}).with_suffix(".new").write_text(f"{{os.getpid()}} {{child.pid}}")
os.rename(pathlib.Path({0!r}).with_suffix(".new"), {0!r})
time.sleep(1000)
"""


async def ask(code: str, within_s: float = 60.0, python: str = sys.executable) -> list[str]:
    return await interpreter.ask([python], ("-c", code), list[str], within_s=within_s, hint="Look.")


async def test_its_last_line_is_the_answer() -> None:
    assert await ask("print('a word of some module'); print('[\"torch\"]')") == ["torch"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("pass", "another version"),
        ("print('no JSON')", "another version"),
        ('print(\'{"of": "an older one"}\')', "another version"),
        ("raise KeyError('No.')", "can't run dtrain-lab: KeyError: 'No.'"),
        ("import sys; sys.exit(3)", "it ended with an error"),
    ],
)
async def test_whatever_else_it_says_is_told_in_words(code: str, said: str) -> None:
    with pytest.raises(EnvironmentUnfit, match="^" + sys.executable) as raised:
        await ask(code)
    assert said in raised.value.message


async def test_one_that_is_not_there_is_told() -> None:
    with pytest.raises(EnvironmentUnfit, match="/nowhere/python can't be run: No such file"):
        await ask("", python="/nowhere/python")


async def test_one_that_is_silent_is_ended() -> None:
    with pytest.raises(EnvironmentUnfit, match=r"did not answer in 0\.2 s"):
        await ask("import time; time.sleep(1000)", 0.2)


async def test_nothing_of_it_is_left_when_nobody_waits_any_more(tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    asked = asyncio.create_task(ask(SLEEPS.format(str(mark))))
    async with asyncio.timeout(30):
        while not mark.exists():
            await asyncio.sleep(0.01)
    pids = [int(pid) for pid in mark.read_text().split()]
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    async with asyncio.timeout(30):
        while any(_lives(pid) for pid in pids):
            await asyncio.sleep(0.01)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("kind", "hint"), [("venv", "Set [environment] path in the profile"), ("current", "Choose a kernel")]
)
async def test_who_named_an_interpreter_that_is_not_there_is_told(kind: Any, hint: str) -> None:
    asked = Environment(kind=kind, path="/nowhere")
    with pytest.raises(EnvironmentUnfit, match="/nowhere/python can't be run") as error:
        await environment.check("/nowhere/python", asked=asked)
    assert hint in error.value.hint
