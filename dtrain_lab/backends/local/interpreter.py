"""Asks another Python interpreter of this machine a question, whose answer is JSON."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

from dtrain_lab.backends.local import undebugged
from dtrain_lab.errors import EnvironmentUnfit

T = TypeVar("T")


async def ask(
    command: Sequence[str],
    arguments: Sequence[str],
    answer: type[T],
    *,
    within_s: float,
    hint: str,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> T:
    """Run an interpreter and decode the last line that it prints.

    The interpreter leads its own session, which is killed on a time-out or if this call is cancelled.

    Args:
        command: Program and arguments that start the interpreter.
        arguments: Its arguments.
        answer: Type of the answer.
        within_s: Time that it has, in seconds.
        hint: What to do where the interpreter can't be run, or ends with an error.
        env: Its variables; by default those of this process.
        cwd: Its working directory; by default that of this process.

    Raises:
        EnvironmentUnfit: It can't be run, is silent, ends with an error, or says something else.
    """
    python = command[0]
    try:
        process = await asyncio.create_subprocess_exec(
            *undebugged.command(command, env),
            "-P",  # files in the working directory must not shadow modules
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentUnfit(f"{python} can't be run: {error.strerror}.", hint) from error
    try:
        out, err = await _output(process, within_s)
    except TimeoutError:
        raise EnvironmentUnfit(
            f"{python} did not answer in {within_s:g} s.", "Is its disk reachable?"
        ) from None
    if process.returncode:
        last = err.decode("utf-8", "replace").strip().splitlines()
        why = last[-1].rstrip(".") if last else "it ended with an error"
        raise EnvironmentUnfit(f"{python} can't run dtrain-lab: {why}.", hint)
    try:
        return msgspec.json.decode(out.strip().splitlines()[-1], type=answer)
    except (IndexError, msgspec.DecodeError) as error:
        raise EnvironmentUnfit(
            f"{python} gave an unreadable answer: its dtrain-lab may be another version.",
            "Install the same version of dtrain-lab there as here.",
        ) from error


async def _output(process: asyncio.subprocess.Process, within_s: float) -> tuple[bytes, bytes]:
    """Return what a process prints until it ends; its session is killed if it does not end in time."""
    try:
        async with asyncio.timeout(within_s):
            return await process.communicate()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
