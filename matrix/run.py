"""Runs one part of the tests in an environment, and ends all that it has started."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

MARK = "DTRAIN_MATRIX_RUN"
"""Variable that all processes of a run inherit, those with a session of their own, too."""
LAST_WORDS_S = 30
"""For pytest to end its fixtures and to say how far it came."""


@dataclass(frozen=True)
class Ran:
    """How one part of the tests went: numbers of tests, and names of those that failed.

    Attributes:
        passed: number of tests that passed, at a later try included.
        failed: names of tests that failed twice, or what else went wrong.
        again: names of tests that passed at a later try only.
    """

    passed: int
    failed: tuple[str, ...]
    again: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.passed}" if not self.failed else f"{self.passed}, **{len(self.failed)} failed**"


def read(text: str, code: int | None, limit_s: float) -> Ran:
    """Read how a part went.

    Args:
        text: what pytest has printed.
        code: exit status of pytest; None where it was ended.
        limit_s: time that it had, in seconds.
    """
    passed = re.search(r"(\d+) passed", text)
    # a test that fails may also fail as it ends
    failed = list(dict.fromkeys(re.findall(r"^(?:FAILED|ERROR) \S*?::(.+?)(?: - .*)?$", text, re.MULTILINE)))
    if code is None:
        failed.append(f"not over in {limit_s:g} s")
    elif code and not failed:
        failed.append(f"pytest ended with {code}")
    return Ran(int(passed[1]) if passed else 0, tuple(failed))


def both(first: Ran, second: Ran) -> Ran:
    """How a part went whose failed tests were run again."""
    again = tuple(name for name in first.failed if name not in second.failed)
    return Ran(first.passed + second.passed, second.failed, again)


@dataclass(frozen=True)
class Started:
    """A command in a session of its own, and the mark by which its processes are known."""

    process: subprocess.Popen[str]
    sign: str

    def end(self) -> None:
        """Kill the command with its process group, and what it has started in other sessions."""
        if self.process.returncode is None:  # nobody else can have its number yet
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        while left := self.left():
            for one in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()  # compares start times: a pid that is reused is safe
            psutil.wait_procs(left, timeout=5)

    def left(self) -> list[psutil.Process]:
        """Processes that have the mark and run."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                runs = process.status() != psutil.STATUS_ZOMBIE
                if runs and process.environ().get(MARK) == self.sign:
                    found.append(process)
        return found


def start(words: Sequence[str], folder: Path, environment: dict[str, str]) -> Started:
    """Start a command whose processes can be ended together.

    Args:
        words: the command.
        folder: where it runs.
        environment: its environment; the mark is added.
    """
    # a run that a shell has put in the background ignores interrupts, and so would its tests
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sign = str(uuid.uuid4())
    process = subprocess.Popen(
        words,
        cwd=folder,
        env={**environment, MARK: sign},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, before)
    return Started(process, sign)


def run(words: Sequence[str], folder: Path, environment: dict[str, str], limit_s: float) -> Ran:
    """Run pytest, and leave no process of it behind, however it ends.

    Args:
        words: the command.
        folder: where it runs.
        environment: its environment.
        limit_s: time that it has, in seconds; then it is interrupted, and killed `LAST_WORDS_S` later.
    """
    started = start(words, folder, environment)
    code: int | None = None
    try:
        text = started.process.communicate(timeout=limit_s)[0]
        code = started.process.returncode
    except subprocess.TimeoutExpired:
        started.process.send_signal(signal.SIGINT)  # to pytest alone: its ranks are its own to end
        text = _last_words(started)
    finally:
        started.end()
    print(text[-4000:], flush=True)
    return read(text, code, limit_s)


def _last_words(started: Started) -> str:
    try:
        return started.process.communicate(timeout=LAST_WORDS_S)[0]
    except subprocess.TimeoutExpired:
        started.end()  # whoever holds the pipe is gone then
        return started.process.communicate()[0]
