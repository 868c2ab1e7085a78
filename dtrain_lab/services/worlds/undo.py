"""Work that must not end halfway when its caller is interrupted: it is finished, and then undone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from dtrain_lab.errors import DtrainError

T = TypeVar("T")
log = logging.getLogger("dtrain_lab.client")


async def whole_or_undone(work: Coroutine[Any, Any, T], undo: Callable[[T], Awaitable[None]]) -> T:
    """Wait for work; if this is cancelled meanwhile, the work is finished and undone first.

    Args:
        work: The work.
        undo: Undoes it, given its result.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.cancelled():  # otherwise, the loop ends
            await undone(_finished(task, undo))
        raise


async def undone(undoing: Awaitable[None]) -> None:
    """Undo what an interrupted caller has begun; an error is logged, as the caller gets the interrupt."""
    try:
        await undoing
    except DtrainError as error:
        log.warning("after an interrupt: %s", error)


async def _finished(task: asyncio.Task[T], undo: Callable[[T], Awaitable[None]]) -> None:
    await undo(await task)
