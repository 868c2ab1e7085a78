"""Breaks our own processes on purpose; Python loads it where a test has put this folder on PYTHONPATH.

A file NAME in the folder that DTRAIN_TEST_THROW names is thrown into the background work of that name: the
file says which faults, one a beginning. While the file that DTRAIN_TEST_SLOW names is there, each file that
is opened below the folder that it names takes its time, as on a file system that hangs.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

POLL_S = 0.03
SLOW_S = 5.0
FAULTS = ("OSError", "OperationalError", "DecodeError")


def fault(kind: str) -> Exception:
    """A fault that is not of our own tree."""
    import msgspec

    made: dict[str, Exception] = {
        "OSError": OSError(116, "Stale file handle"),
        "OperationalError": sqlite3.OperationalError("database is locked"),
        "DecodeError": msgspec.DecodeError("thrown by a test"),
    }
    return made[kind]


def taken(folder: Path, name: str) -> str | None:
    """What shall be thrown into this work now: the first of what the file lists."""
    mine = folder / f".{name}.{os.getpid()}"
    try:
        os.rename(folder / name, mine)
    except FileNotFoundError:
        return None
    kind, *later = mine.read_text().split()
    mine.write_text("\n".join(later))
    if later:
        os.rename(mine, folder / name)
    else:
        mine.unlink()
    return kind


def thrower(folder: Path) -> Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[None]]:
    """In place of `dtrain_lab.machine.supervision._run`."""

    async def run(name: str, work: Callable[[], Awaitable[Any]]) -> None:
        if (kind := taken(folder, name)) is not None:
            raise fault(kind)
        task = asyncio.ensure_future(work())
        try:
            while not (await asyncio.wait({task}, timeout=POLL_S))[0]:
                if (kind := taken(folder, name)) is not None:
                    task.cancel()
                    await asyncio.wait({task})
                    raise fault(kind)
        finally:
            task.cancel()
        task.result()

    return run


def _slow_down(flag: str, folder: str) -> None:
    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event not in ("open", "os.listdir", "os.scandir", "sqlite3.connect", "os.rename"):
            return
        path = args[0]
        named = isinstance(path, str | bytes | os.PathLike)
        if named and os.fsdecode(path).startswith(folder) and os.path.exists(flag):
            time.sleep(SLOW_S)

    sys.addaudithook(hook)


_words = " ".join(sys.orig_argv)
_ours = "dtrain_lab.head" in _words or "dtrain_lab.node" in _words
if os.environ.get("DTRAIN_TEST_THROW") and _ours and "forkserver" not in _words:
    from dtrain_lab.machine import supervision

    supervision._run = thrower(Path(os.environ["DTRAIN_TEST_THROW"]))
if os.environ.get("DTRAIN_TEST_SLOW"):
    _slow_down(os.environ["DTRAIN_TEST_SLOW"], os.environ["DTRAIN_TEST_SLOW_FOLDER"])
