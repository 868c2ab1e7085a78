"""The head's desk: where doors ask, and are answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from dtrain_lab.core import hangs
from dtrain_lab.core.cluster import Cluster, Stack, Verdict, Where
from dtrain_lab.core.history import Point
from dtrain_lab.core.wire import VERSION, doors, links
from dtrain_lab.core.world import events as on
from dtrain_lab.errors import Conflict, DtrainError, Unreachable, WireMismatch
from dtrain_lab.head.cell_desk import CellDesk
from dtrain_lab.head.history import History

if TYPE_CHECKING:
    from dtrain_lab.head.main import Head

TICK_S = 0.25
FORGET_WATCHER_S = 10.0
STACKS_WITHIN_S = 2.0
WHERE_WITHIN_S = 0.4
FROM_AGENTS_WITHIN_S = 1.5
"""A stopped process can't be looked at."""
LOOK_AGAIN_S = 5.0
RESTARTED_WITHIN_S = 180.0
SETTLED_WITHIN_S = 10.0
pack = msgspec.msgpack.Encoder().encode


class Desk:
    """Answers calls, one task each, and tells watchers what changed."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self.cells = CellDesk(head)
        self.history = History()
        self._watchers: dict[bytes, tuple[float, float, float]] = {}
        """Door → period, when it last asked, when it was last told."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[int, tuple[set[int], dict[int, links.Here], asyncio.Future[None]]] = {}
        self._number = 0
        self._changed = False
        self._looked: dict[int, float] = {}
        """Rank that is waited for → when it was asked where it is."""

    def received(self, door: bytes, frame: bytes) -> None:
        """A door has asked something."""
        call = doors.decode_to_head(frame)
        self._head.was_asked()
        order = call.body
        if isinstance(order, doors.Run | doors.Follow):  # in the order of arrival, without a task's delay
            refused = self._guarded(call, lambda: self._cell(door, order))
            # a cell's end is its answer, where somebody waits for that
            if refused is not None or (isinstance(order, doors.Run) and order.detached):
                self._answer(door, call.id, refused)
            return
        task = asyncio.get_running_loop().create_task(self._serve(door, call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def moved(self) -> None:
        """The world is in a new state: watchers hear of it at once."""
        self._changed = True

    def heard(self, here: links.Here) -> None:
        """A rank has said where it is."""
        asked = self._asked.get(here.id)
        if asked is None:
            return
        missing, known, done = asked
        missing.discard(here.rank)
        known[here.rank] = here
        if not missing and not done.done():
            done.set_result(None)

    async def watch(self) -> None:
        """Tell watchers; ask suspects where they are."""
        while True:
            await asyncio.sleep(TICK_S)
            self._head.nodes.look()
            self._head.relay.look()
            self._end_idle()
            stuck = self._head.aggregate.stuck(self._head.membership.state)
            if stuck is not None and stuck.code == "not_in_cell":
                self._head.end_hopeless(stuck)
            if stuck is not None:
                self._head.act_on(stuck)
            await self._look_for(stuck)
            at = time.time()
            if self._head.membership.state.busy and self.history.due(at):
                self.history.look(at, self._head.cluster())
            self._tell()

    async def _look_for(self, stuck: Verdict | None) -> None:
        """Ask ranks that are waited for where they are: before anybody is blamed, and now and then after."""
        aggregate = self._head.aggregate
        suspects = {*aggregate.suspects(self._head.membership.state), *(stuck.ranks if stuck else ())}
        if not suspects:
            aggregate.places.clear()
            aggregate.activities.clear()
            self._looked.clear()
        now = time.monotonic()
        unknown = tuple(
            sorted(r for r in suspects if now - self._looked.get(r, -LOOK_AGAIN_S) >= LOOK_AGAIN_S)
        )
        if unknown:
            self._looked |= dict.fromkeys(unknown, now)
            await self._find(unknown)

    def _end_idle(self) -> None:
        """A world on other machines ends where nobody has used it for long."""
        left_s = self._head.idle_left_s
        if left_s is not None and left_s < 0:
            self._head.stop()

    async def _serve(self, door: bytes, call: doors.Call) -> None:
        try:
            _check_version(call.version)
            result = await self._handler(call.body)(door, call.body)
        except DtrainError as error:
            self._answer(door, call.id, error)
        except Exception as error:
            # a fault of ours: whoever asked must not wait for an answer that never comes
            what = f"The head could not answer: {type(error).__name__}: {error}."
            log = f"Please report it, with its log: {self._head.directory}/head.log"
            self._answer(door, call.id, Unreachable(what, log, code="internal"))
            raise
        else:
            self._answer(door, call.id, result)

    def _guarded(self, call: doors.Call, serve: Callable[[], Any]) -> Any:
        try:
            _check_version(call.version)
            return serve()
        except DtrainError as error:
            return error

    def _cell(self, door: bytes, order: doors.Run | doors.Follow) -> None:
        if isinstance(order, doors.Run):
            self.cells.run(door, order)
        else:
            self.cells.follow(door, order)

    def _answer(self, door: bytes, number: int, result: Any) -> None:
        if isinstance(result, DtrainError):
            answer = doors.Answer(number, error={**result.as_dict(), "kind": type(result).default_code})
        else:
            answer = doors.Answer(number, result=pack(result))
        self._head.outlets.say(door, doors.encode(answer))

    def _handler(self, body: doors.AnyBody) -> Callable[[bytes, Any], Awaitable[Any]]:
        handlers: dict[type, Callable[[bytes, Any], Awaitable[Any]]] = {
            doors.Launch: self._launch,
            doors.Hold: self._hold,
            doors.Release: self._release,
            doors.Info: self._info,
            doors.Clock: self._clock,
            doors.Watch: self._watch,
            doors.Interrupt: self._interrupt,
            doors.Restart: self._restart,
            doors.Resize: self._resize,
            doors.Stop: self._stop,
            doors.Stacks: self._stacks,
            doors.Engines: self._engines,
            doors.ReadHistory: self._history,
            doors.HoldDebugger: self._hold_debugger,
            doors.LeaveDebugger: self._leave_debugger,
            doors.Debug: self._head.relay.ask,
            **self.cells.handlers,
        }
        return handlers[type(body)]

    async def _launch(self, _: bytes, order: doors.Launch) -> Cluster:
        if self._head.plan is not None:
            raise Conflict("This head has a world already.", code="claimed")
        if self._head.membership.state.phase != "pending":
            raise Conflict("This head can't start ranks any more.", code="claimed")
        self._head.launch(order)
        return self._head.cluster()

    async def _hold(self, _: bytes, order: doors.Hold) -> Cluster:
        self._head.leases.hold(order.lease, attach=order.attach)
        self.moved()
        return self._head.cluster()

    async def _release(self, _: bytes, order: doors.Release) -> None:
        self._head.leases.release(order.lease)
        self.moved()

    async def _info(self, _: bytes, __: doors.Info) -> Cluster:
        return self._head.cluster()

    async def _clock(self, _: bytes, __: doors.Clock) -> float:
        return time.time()

    async def _watch(self, door: bytes, order: doors.Watch) -> None:
        if order.period_s <= 0:
            self._watchers.pop(door, None)
        else:
            told = self._watchers.get(door, (0.0, 0.0, 0.0))[2]
            self._watchers[door] = (order.period_s, time.monotonic(), told)

    async def _interrupt(self, _: bytes, order: doors.Interrupt) -> Cluster:
        head = self._head
        if order.cell is not None:
            cell = head.cells.get(order.cell)
            if cell is None:
                return head.cluster()
            head.cells.withdraw([order.cell], "It was interrupted before its turn.")
            ranks = tuple(cell.left)
        else:
            ranks = self.cells.ranks(order.ranks)
            head.cells.withdraw(head.cells.waiting(), "It was interrupted before its turn.")
        await head.relay.release(ranks)
        head.membership.happened(on.InterruptAsked(ranks))
        return head.cluster()

    async def _restart(self, _: bytes, order: doors.Restart) -> Cluster:
        head = self._head
        await self._settled()
        if head.membership.state.phase not in ("ready", "degraded"):
            raise Conflict(
                f"{head.aggregate.name} is {head.membership.state.phase}.",
                "Wait until it is ready.",
                code="not_ready",
            )
        ranks = self.cells.ranks(order.ranks)
        head.membership.happened(on.RestartAsked(ranks))
        return await self._whole_again("restart_failed")

    async def _resize(self, _: bytes, order: doors.Resize) -> Cluster:
        head = self._head
        await self._settled()
        state = head.membership.state
        if state.phase not in ("ready", "degraded") or head.cells.busy or head.plan is None:
            doing = "a cell runs" if head.cells.busy else f"it is {state.phase}"
            raise Conflict(
                f"{head.aggregate.name} can't change its size now: {doing}.",
                "Wait for it, or interrupt it.",
                code="not_ready",
            )
        if len(order.plan.nodes) > head.nodes.count or (
            len(head.plan.nodes) > 1 and order.plan.nodes[0].ranks != head.plan.nodes[0].ranks
        ):
            raise Conflict(
                f"{head.aggregate.name} has {head.nodes.count} nodes of {head.plan.nodes[0].ranks} ranks.",
                "Ask for whole nodes of them, or start another cluster.",
                code="other_nodes",
            )
        if order.plan.collectives != head.plan.collectives:
            raise Conflict(
                f"{order.plan.size} ranks need {order.plan.collectives}, and these use "
                f"{head.plan.collectives}.",
                "Start another cluster of that size.",
                code="other_collectives",
            )
        head.resize(order.plan)
        return await self._whole_again("resize_failed")

    async def _settled(self) -> None:
        """An interrupt a moment ago may still have the group made anew: wait for that."""
        try:
            async with asyncio.timeout(SETTLED_WITHIN_S):
                await self._head.membership.until(lambda s: s.phase != "rebuilding")
        except TimeoutError:  # whoever asked is told the state
            pass

    async def _whole_again(self, code: str) -> Cluster:
        head = self._head
        wanted = ("ready", "degraded", "failed", "stopped")
        try:
            async with asyncio.timeout(RESTARTED_WITHIN_S):
                state = await head.membership.until(lambda s: s.phase in wanted)
        except TimeoutError:
            raise Conflict(head.cluster().summary.text, "Its log has the details.", code=code) from None
        if state.phase != "ready":
            raise Conflict(head.cluster().summary.text, code=code)
        return head.cluster()

    async def _stop(self, _: bytes, __: doors.Stop) -> None:
        self._head.stop()

    async def _history(self, _: bytes, order: doors.ReadHistory) -> list[Point]:
        return self.history.since(order.since)

    async def _stacks(self, _: bytes, order: doors.Stacks) -> list[Stack]:
        ranks = self.cells.ranks(order.ranks)
        known = await self._ask(ranks, stacks=True)
        return [
            Stack(rank, known[rank].text)
            if rank in known
            else Stack(rank, None, "no answer, also not to a signal: it is stopped, or ends")
            for rank in ranks
        ]

    async def _hold_debugger(self, door: bytes, order: doors.HoldDebugger) -> int:
        return self._head.relay.hold(door, order)

    async def _leave_debugger(self, door: bytes, _: doors.LeaveDebugger) -> None:
        await self._head.relay.leave(door)

    async def _engines(self, _: bytes, __: doors.Engines) -> str:
        client = self._head.nodes.client_file
        if not client:
            raise Conflict("ipyparallel's controller does not run yet.", "Wait until the cluster is ready.")
        return client

    # ----

    async def _find(self, ranks: tuple[int, ...]) -> None:
        known = await self._ask(ranks, stacks=False, within_s=WHERE_WITHIN_S)
        running = self._head.cells.running
        for rank, here in known.items():
            self._head.aggregate.activities[rank] = hangs.activity(here.frames)
            frame = next(
                (f for f in reversed(here.frames) if f.cell), here.frames[-1] if here.frames else None
            )
            if frame is not None:
                cell = next((c for c in running if rank in c.ranks), None)
                self._head.aggregate.places[rank] = Where(
                    notebook=cell.notebook if cell else None,
                    cell=frame.cell,
                    file=frame.file if frame.cell is None else None,
                    function=frame.function,
                    line=frame.line,
                )

    async def _ask(
        self, ranks: tuple[int, ...], *, stacks: bool, within_s: float = STACKS_WITHIN_S
    ) -> dict[int, links.Here]:
        self._number += 1
        number = self._number
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        known: dict[int, links.Here] = {}
        self._asked[number] = (set(ranks), known, done)
        self._head.ask_where(ranks, number, stacks=stacks)
        try:
            if not await _within(done, within_s):  # a rank that holds the GIL: its agent can look at it
                self._head.ask_stacks(tuple(sorted(self._asked[number][0])), number)
                await _within(done, FROM_AGENTS_WITHIN_S)  # one that is stopped has nothing to say
        finally:
            del self._asked[number]
        return known

    def _tell(self) -> None:
        now = time.monotonic()
        changed, self._changed = self._changed, False
        due = []
        for door, (period, asked, told) in list(self._watchers.items()):
            if now - asked > FORGET_WATCHER_S:
                del self._watchers[door]
            elif changed or now - told >= period - TICK_S / 2:
                due.append(door)
                self._watchers[door] = (period, asked, now)
        if due:
            frame = doors.encode(doors.Changed(self._head.cluster()))
            for door in due:
                if self._head.outlets.takes(door):
                    self._head.outlets.say(door, frame)


async def _within(done: asyncio.Future[None], seconds: float) -> bool:
    await asyncio.wait([done], timeout=seconds)
    return done.done()


def _check_version(version: int) -> None:
    if abs(version - VERSION) > 1:
        raise WireMismatch(
            f"This process speaks version {version}, the cluster {VERSION}.",
            "Install the same dtrain-lab in both environments.",
        )
