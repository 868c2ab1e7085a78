"""The scheduler's time limit of this world, asked from inside its job; repeatedly, as it may be raised."""

from __future__ import annotations

import asyncio

from dtrain_lab.backends import allocation_end

AGAIN_S = 600.0


class Limit:
    """The end of the allocation that this process runs in."""

    def __init__(self) -> None:
        self._end = allocation_end.of_this_process()
        self._sooner = asyncio.Event()

    @property
    def at(self) -> float | None:
        """Seconds since 1970; None outside an allocation, or without a time limit."""
        return self._end.at if self._end is not None else None

    @property
    def taken(self) -> str:
        """Why the allocation ends sooner; empty if it does not."""
        return self._end.taken if self._end is not None else ""

    async def watch(self) -> None:
        """Ask every `AGAIN_S` seconds until the world ends."""
        while self._end is not None:
            await self.poll()
            self._sooner.clear()
            try:
                async with asyncio.timeout(AGAIN_S):
                    await self._sooner.wait()
            except TimeoutError:  # the limit may have been raised
                pass

    def warned(self) -> None:
        """The scheduler has signalled that the end is near: ask now."""
        self._sooner.set()

    async def poll(self) -> None:
        """Ask the scheduler once."""
        if self._end is not None:
            await self._end.poll()
