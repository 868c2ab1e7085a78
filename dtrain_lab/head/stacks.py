"""Stacks of ranks: on request, and the location of ranks that others wait for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from dtrain_lab.cells.errors import cells_frame, is_library, is_ours, users_frame
from dtrain_lab.head.metrics.collector import MetricsCollector
from dtrain_lab.head.ownership.rank_ownership import StackReader
from dtrain_lab.head.ownership.rank_routes import RankRoutes
from dtrain_lab.metrics.verdicts import activity
from dtrain_lab.wire import links
from dtrain_lab.wire.metrics.verdicts import Verdict
from dtrain_lab.wire.stacks import Frame, Stack, StackFrame, Where

STACKS_WITHIN_S = 2.0
WHERE_WITHIN_S = 0.4
LOCATE_EVERY_S = 5.0
MOST_PEERS = 64
"""Number of waiting ranks that are queried: most of them wait at the same few lines."""


class StackOwnership(Protocol):
    """What `Stacks` needs of `RankOwnership`."""

    stack_readers: tuple[StackReader, ...]

    def locate(self, rank: int, frame: Frame) -> tuple[str | None, str | None]:
        """Find the notebook and the cell of a stack frame; see `RankOwnership.locate`."""


class Stacks:
    """Lets readers read stacks, one after another, until all ranks are read.

    Args:
        ownership: What depends on who owns the ranks, as the readers do.
        routes: Connections to the ranks.
        collector: Stores the location of ranks that others wait for.
    """

    def __init__(self, ownership: StackOwnership, routes: RankRoutes, collector: MetricsCollector) -> None:
        self._ownership = ownership
        self._routes = routes
        self._collector = collector
        self._asked: dict[int, tuple[set[int], dict[int, links.StacksRead], asyncio.Future[None]]] = {}
        self._number = 0
        self._looked: dict[int, float] = {}
        """Rank that others wait for → when it was asked last; monotonic seconds."""

    def received(self, here: links.StacksRead) -> None:
        """A rank, or its agent, has read its stacks."""
        pending = self._asked.get(here.id)
        if pending is None:
            return
        missing, received_stacks, done = pending
        missing.discard(here.rank)
        if here.text or here.frames:
            received_stacks[here.rank] = here
        if not missing and not done.done():
            done.set_result(None)

    async def of(self, ranks: Sequence[int]) -> list[Stack]:
        """Stacks of all threads of these ranks; for a rank without an answer, the reason."""
        by_rank = await self._read(tuple(ranks), main_only=False, within_s=STACKS_WITHIN_S)
        return [self._stack(rank, by_rank.get(rank)) for rank in ranks]

    async def locate(self, stuck: Verdict | None, suspects: Sequence[int]) -> None:
        """Locate ranks that others wait for: before a verdict names them, and every `LOCATE_EVERY_S` after.

        Args:
            stuck: The verdict on a hang, if there is one.
            suspects: Ranks that others wait for.
        """
        collector = self._collector
        wanted = {*suspects, *(stuck.ranks if stuck else ())}
        alarm = stuck is not None and stuck.kind != "slow"
        waiting = set(stuck.peers[:MOST_PEERS]) - wanted if stuck is not None and alarm else set()
        if not wanted:
            collector.awaited.clear()
            self._looked.clear()
        now = time.monotonic()
        unknown = {r for r in wanted if now - self._looked.get(r, -LOCATE_EVERY_S) >= LOCATE_EVERY_S}
        # waiting ranks don't move, so one request is enough
        unknown |= {r for r in waiting if r not in self._looked}
        if unknown:
            self._looked |= dict.fromkeys(unknown, now)
            await self._find(tuple(sorted(unknown)))

    async def _find(self, ranks: tuple[int, ...]) -> None:
        for rank, here in (await self._read(ranks, main_only=True, within_s=WHERE_WITHIN_S)).items():
            frame = users_frame(here.frames)
            place = (self._called(rank, here.frames, frame), frame.source) if frame is not None else None
            self._collector.awaited.found(rank, activity.activity(here.frames), place)

    def _called(self, rank: int, frames: Sequence[Frame], frame: Frame) -> Where:
        """Return a frame's location, and that of the cell's line that called it if it is in a file."""
        at = self.location(rank, frame)
        caller = cells_frame(frames) if frame.cell is None else None
        return at if caller is None else replace(at, called_from=self.location(rank, caller))

    def _stack(self, rank: int, here: links.StacksRead | None) -> Stack:
        if here is not None:
            frames = (
                StackFrame(self.location(rank, f), f.source, is_library(f))
                for f in here.frames
                if not is_ours(f)
            )
            return Stack(rank, here.text, frames=tuple(frames))
        if self._routes.of(rank) is None:
            return Stack(rank, None, f"It {self._routes.absent(rank)}.")
        return Stack(rank, None, "no answer, not even to a signal: it is stopped or exiting")

    def location(self, rank: int, frame: Frame) -> Where:
        """Return a stack frame as a location that a person can open.

        Args:
            rank: The rank.
            frame: A frame of its stack.
        """
        if frame.cell is None:
            return Where(file=frame.file, function=frame.function, line=frame.line)
        notebook, cell_id = self._ownership.locate(rank, frame)
        return Where(notebook, frame.cell, None, frame.function, frame.line, cell_id)

    async def _read(
        self, ranks: tuple[int, ...], *, main_only: bool, within_s: float
    ) -> dict[int, links.StacksRead]:
        self._number += 1
        number = self._number
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        by_rank: dict[int, links.StacksRead] = {}
        missing = {rank for rank in ranks if self._routes.of(rank) is not None}
        if not missing:
            return by_rank
        self._asked[number] = (missing, by_rank, done)
        try:
            for reader in self._ownership.stack_readers:
                reader.read(links.ReadStacks(number, tuple(sorted(missing)), main_only=main_only))
                if await _within(done, reader.within_s or within_s):
                    break
        finally:
            del self._asked[number]
        return by_rank


async def _within(done: asyncio.Future[None], seconds: float) -> bool:
    await asyncio.wait([done], timeout=seconds)
    return done.done()
