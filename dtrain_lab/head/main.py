"""The head's process: sockets, agents, ranks, and the world that they make up."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import sys
import time
from pathlib import Path

import msgspec
import zmq

from dtrain_lab.core.cluster import Cluster, Verdict
from dtrain_lab.core.plan import Plan
from dtrain_lab.core.rendezvous import Store
from dtrain_lab.core.summary import soon
from dtrain_lab.core.wire import VERSION, doors, links
from dtrain_lab.core.world import State
from dtrain_lab.core.world import events as on
from dtrain_lab.head import elsewhere, orders, record
from dtrain_lab.head.aggregate import ALARMS, Aggregate
from dtrain_lab.head.cells import Cells
from dtrain_lab.head.confirmed import Confirmed
from dtrain_lab.head.desk import Desk
from dtrain_lab.head.journal import Journal
from dtrain_lab.head.leases import Leases
from dtrain_lab.head.limit import Limit
from dtrain_lab.head.membership import Membership
from dtrain_lab.head.nodes import Nodes
from dtrain_lab.head.outlets import Outlets
from dtrain_lab.head.relay import Relay
from dtrain_lab.head.settings import Settings
from dtrain_lab.head.sockets import Router, Sent
from dtrain_lab.machine import private, sockets
from dtrain_lab.machine.curve import Curve

LINGER_FAILED_S = 600.0
END_WITHIN_S = 1.5
MOST_WAITING = 64
"""Messages that wait for one door: what it does not read comes from the journal later."""
TRY_AGAIN_S = 0.05
REASON_WITHIN_S = 2.0
PAUSED_S = 1.0
"""How often a time-out that is due looks whether ranks are still paused."""


class Head:
    """Owns one world. Implements `membership.Hands`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.directory = Path(settings.directory)
        self.aggregate = Aggregate(settings.id)
        self.journal = Journal(self.directory)
        self.limit = Limit()
        self.confirmed = Confirmed()
        self.membership = Membership(self)
        # a world on other machines lives until it is stopped, idle, or its allocation ends
        over = self.stop if settings.remote is None else _nothing
        self.leases = Leases(over, settings.adoption_s)
        self.outlets = Outlets(self._to_door, self.journal, self._soon)
        self.cells = Cells(self.journal, self.to_rank, self.outlets, self._began)
        self.store = Store(self.to_rank)
        self.relay = Relay(self.to_rank, self.outlets.say, self._alive, self._paused_changed)
        self.desk = Desk(self)
        self.plan: Plan | None = None
        self._former: Plan | None = None
        """While the world shrinks: where the ranks are that end."""
        self.curve: Curve | None = None
        self._ranks: dict[int, bytes] = {}
        self._forked: set[int] = set()
        self._groups: orders.Groups = {}
        self._operations: dict[int, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._flushes = False
        self._again: asyncio.TimerHandle | None = None
        self._done = asyncio.Event()
        self.ending = False
        self._joined = self._reached = self._was_ready = False

    async def run(self) -> None:
        """Serve until the world has ended."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._told_to_end)
        loop.add_signal_handler(signal.SIGUSR2, self.limit.warned)
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.link = Router(context, str(self.directory / "link"), self._from_link, self._flush)
        self._door = Router(
            context, str(self.directory / "door"), self.desk.received, self._flush, MOST_WAITING
        )
        self.nodes = Nodes(self, self.link.url)
        self.aggregate.phase_began("load")
        remote = self.settings.remote
        if remote is None or remote.own_agent:
            self.nodes.start(0, self.settings.node.name, self.settings.node.gpus, self.settings.variables)
        if remote is not None:
            self.curve = Curve(context)
            elsewhere.open_to_others(self, self.curve, self.link, self._door)
            self.launch(remote.launch)
        self.leases.expect()
        self._write_record()
        watch = asyncio.gather(self.desk.watch(), self.limit.watch())
        try:
            await self._done.wait()
        finally:
            watch.cancel()
            self.membership.close()
            self.nodes.leave()
            await self.nodes.close(END_WITHIN_S)
            record.remove(self.settings)
            self.all_joined()
            self.link.close()
            self._door.close()
            self.journal.close()
            if self.curve is not None:
                self.curve.close()
            context.term()
            shutil.rmtree(self.directory, ignore_errors=True)

    def launch(self, order: doors.Launch) -> None:
        """Become the head of a world."""
        self.plan = self.aggregate.plan = order.plan
        self.aggregate.name = order.name
        self.aggregate.owner = order.owner
        self.aggregate.created_at = time.time()
        self._write_record()
        if self.settings.remote is not None:
            self.nodes.expect(order.plan)
        else:
            for index, node in enumerate(order.plan.nodes[1:], start=1):
                self.nodes.start(index, node.name, node.gpus, order.plan.variables)
        self.membership.happened(on.Launched(order.plan.size, len(order.plan.nodes)))

    def resize(self, plan: Plan) -> None:
        """Make it a world of another size: the last ranks end, or new ones are made."""
        assert self.plan is not None
        self._former = self.plan
        # a plan made elsewhere does not know which nodes a scheduler chose
        known = zip(plan.nodes, self.plan.nodes, strict=False)
        nodes = tuple(
            msgspec.structs.replace(new, name=old.name, address=old.address, gpus=old.gpus)
            for new, old in known
        )
        nodes += plan.nodes[len(nodes) :]
        self.plan = self.aggregate.plan = msgspec.structs.replace(self.plan, nodes=nodes)
        self._groups.clear()
        for index, node in enumerate(self.plan.nodes):
            self._hold_slots(index, node.ranks)
        self.membership.happened(on.ResizeAsked(plan.size))
        for rank in range(plan.size, self._former.size):
            self.forget(rank)
        self._former = None

    def stop(self) -> None:
        """End the world and this process."""
        if self.membership.state.phase in ("stopped", "failed"):
            self._done.set()
        else:
            self.membership.happened(on.StopAsked())

    def _told_to_end(self) -> None:
        """By a signal: of a scheduler, whose reason people want to read, or of a person."""
        task = asyncio.get_running_loop().create_task(self._end_with_reason())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end_with_reason(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REASON_WITHIN_S):
                await self.limit.look()
        why = self.limit.taken
        if why and self.membership.state.phase not in ("stopped", "failed"):
            self.membership.happened(on.StopAsked(why))
        else:
            self.stop()

    def replan(self, plan: Plan) -> None:
        """More is known of the nodes than when the plan was made."""
        self.plan = self.aggregate.plan = plan

    def all_joined(self) -> None:
        """All agents are there, or the world is over: once a door has the keys, nobody else needs them."""
        self._joined = True
        self._hide_keys()

    def was_asked(self) -> None:
        """A door has reached this head."""
        if not self._reached:
            self._reached = True
            self._hide_keys()

    def _hide_keys(self) -> None:
        if self.settings.remote is not None and self._joined and (self._reached or self._done.is_set()):
            elsewhere.forget_keys(self.settings.remote)

    def cluster(self) -> Cluster:
        """The cluster, now."""
        cluster = self.aggregate.cluster(self.membership.state, self.cells.running, self.leases.notebooks)
        limit = self.limit.at
        ends = min((at for at in (self.idle_ends_at, limit) if at is not None), default=None)
        summary = soon(cluster.summary, limit, time.time())
        return msgspec.structs.replace(cluster, ends_at=ends, limit_at=limit, summary=summary)

    @property
    def idle_ends_at(self) -> float | None:
        """When this world ends if nobody runs a cell until then; None where it needs a stop."""
        left_s = self.idle_left_s
        since, remote = self.aggregate.idle_since, self.settings.remote
        return since + remote.idle_s if left_s is not None and since is not None and remote else None

    @property
    def idle_left_s(self) -> float | None:
        """Seconds that it may still be idle; None where it needs a stop."""
        remote = self.settings.remote
        if remote is None or self.cells.busy or self.membership.state.phase != "ready":
            return None
        return remote.idle_s - self.aggregate.idle_s

    def end_hopeless(self, verdict: Verdict) -> None:
        """End cells whose ranks wait for ranks that don't run them: nothing in their notebook can help."""
        for rank in verdict.peers:
            cell = self.cells.of_rank(rank)
            if cell is not None and not cell.hopeless:
                cell.hopeless = verdict.text
                self.membership.happened(on.InterruptAsked(tuple(cell.left)))

    def act_on(self, verdict: Verdict) -> None:
        """End a hang by itself, where the profile says so."""
        if self.plan is None or self.plan.watch.on_hang != "interrupt" or verdict.kind not in ALARMS:
            return
        ranks = {rank for v in (verdict.ranks, verdict.peers) for rank in v}
        for cell in {c.order.cell: c for r in ranks if (c := self.cells.of_rank(r)) is not None}.values():
            if not cell.hopeless:
                cell.hopeless = verdict.text
                self.membership.happened(on.InterruptAsked(tuple(cell.left)))

    def ask_stacks(self, ranks: tuple[int, ...], number: int) -> None:
        """Ask the agents of ranks that don't answer themselves."""
        if self.plan is not None:
            for index, _, mine in orders.by_node(self.plan, ranks):
                self.nodes.say(index, links.AskStacks(number, mine))

    def ask_where(self, ranks: tuple[int, ...], number: int, *, stacks: bool) -> None:
        """Ask ranks where they are; the desk collects what they say."""
        for rank in ranks:
            self.to_rank(rank, links.AskWhere(id=number, stacks=stacks))

    # ---- Hands

    def fork(self, ranks: tuple[int, ...]) -> None:
        """Make processes for ranks."""
        assert self.plan is not None
        self.aggregate.phase_began("fork")
        for index, node, mine in orders.by_node(self.plan, ranks):
            self._hold_slots(index, node.ranks)
            place = self.nodes.place(index)
            specs = tuple(
                orders.rank_spec(self.plan, place, index, node, rank, replaces=rank in self._forked)
                for rank in mine
            )
            self.nodes.say(index, links.Fork(specs))
        for rank in ranks:
            self._forked.add(rank)
            self.aggregate.forget(rank)
            self.store.forget(rank)

    def _hold_slots(self, node: int, ranks: int) -> None:
        """Whoever asks for slots of a node of ours sees what we have; a scheduler gives its own."""
        assert self.plan is not None
        if self.plan.backend != "slurm":
            self.nodes.say(node, links.Hold(self.settings.id, self.aggregate.name, ranks))

    def form(self, generation: int, joining: tuple[int, ...]) -> None:
        """Have all ranks form a group; newcomers learn the groups that survivors have."""
        assert self.plan is not None
        self.aggregate.phase_ended("fork")
        self.aggregate.phase_began("connect")
        self.aggregate.unpointed.clear()
        self.store.drop(f"gen{generation - 1}/")
        for rank, order in orders.form(self.plan, generation, joining, self._groups):
            self.to_rank(rank, order)
        for rank in joining:
            self._groups.pop(rank, None)

    def signal(self, ranks: tuple[int, ...], number: int) -> None:
        """Send a signal to ranks."""
        plan = self._former or self.plan
        assert plan is not None
        self._note_operations(ranks)
        for index, _, keys in orders.by_node(plan, ranks):
            self.nodes.say(index, links.Signal(keys, number))

    def abort(self, ranks: tuple[int, ...]) -> None:
        """Break the collectives that ranks wait in."""
        self._note_operations(ranks)
        for rank in ranks:
            self.to_rank(rank, links.Abort())

    def fail_cell(self, rank: int, message: str) -> None:
        """A rank will never answer its cell."""
        self.cells.lose(rank, message)

    def give_up(self, ranks: tuple[int, ...]) -> None:
        """Ranks do not answer: their cells end without them."""
        self.cells.give_up(ranks)

    def end(self) -> None:
        """The world is over: end everything; a failed one stays to say why."""
        if self.membership.state.phase == "failed":
            self._fail()
        else:
            self._done.set()

    def moved(self, state: State) -> None:
        """The world is in a new state."""
        if state.phase == "ready":
            if not self._was_ready:  # a start may take longer than a world may be idle
                self._was_ready = True
                self.aggregate.rests(True)
            self.aggregate.phase_ended("connect")
        if state.phase in ("ready", "degraded") and not state.forming:
            # each reply of each rank comes here: nothing that looks at every rank without need
            if waiting := self.cells.waiting():
                self._withdraw_blocked(waiting, {*state.lost, *state.deaf})
            self.cells.go_on()
        elif state.phase in ("stopping", "failed"):
            self.cells.withdraw(self.cells.waiting(), "the cluster has ended.")
        self.desk.moved()

    def _withdraw_blocked(self, waiting: list[str], out: set[int]) -> None:
        """Cells that wait for ranks which can't run them never will."""
        blocked = [n for n in waiting if (c := self.cells.get(n)) and out & set(c.ranks)]
        if blocked:
            self.cells.withdraw(blocked, self.cluster().summary.text)

    # ---- link

    def _from_link(self, peer: bytes, frame: bytes) -> None:
        message = links.decode_to_head(frame)
        match message:
            case links.CellOutput():
                self.cells.output(message, frame)
                seen = self.confirmed.received(message)
                if seen is not None:
                    self.to_rank(message.rank, seen)
            case links.Logged():
                self.aggregate.logged(message)
            case links.StoreCall():
                self.store.call(message)
            case links.CellReply():
                self._replied(message)
            case links.Samples(node, samples, host):
                self.nodes.heard(node)
                self.aggregate.sampled(samples, node, host)
            case links.RankHello(rank, pid, version):
                self._ranks[rank] = peer
                _check_version(version, f"rank {rank}")
                self.membership.happened(on.RankJoined(rank, pid))
            case links.GroupFormed():
                self._formed(message)
            case links.Here():
                self.desk.heard(message)
            case links.Completed():
                self.desk.cells.completed(message)
            case links.Debugged():
                self.relay.answered(message)
            case links.DebugEvent():
                self.relay.happened(message)
            case links.NodeHello() | links.Preloaded() | links.Listening() | links.Probed():
                self.nodes.received(peer, message)
            case links.Forked(key, pid):
                if key != links.CONTROLLER:
                    self.membership.happened(on.RankForked(key, pid))
            case links.Exited():
                self._exited(message)

    def _formed(self, message: links.GroupFormed) -> None:
        rank, generation = message.rank, message.generation
        if message.error:
            self.membership.happened(on.GroupFailed(rank, generation, message.error))
            return
        self._groups[rank] = (message.groups, message.group_count)
        if message.unpointed:
            self.aggregate.unpointed[rank] = message.unpointed
        self.membership.happened(on.GroupFormed(rank, generation))

    def _exited(self, message: links.Exited) -> None:
        if message.key == links.CONTROLLER:
            if self.ending:
                return
            if self.membership.state.phase in ("pending", "starting"):
                self.membership.happened(
                    on.NodeFailed(0, "the ipyparallel controller ended", message.last.strip()[-500:])
                )
            else:
                self.nodes.controller_ended()
                self.desk.cells.calls_lost()
            return
        if self.pid(message.key) == message.pid:
            self._last_words(message)
            self.cells.called(message.key, message.calls)
            self.forget(message.key)
        self.membership.happened(
            on.RankExited(message.key, message.pid, message.code, message.last, message.how)
        )

    def _last_words(self, message: links.Exited) -> None:
        """What a dead rank had written and not sent belongs to the cell that it ran."""
        cell = self.cells.of_rank(message.key)
        if cell is None:
            return
        for stream, text in self.confirmed.missing(message.key, message.words, message.fault):
            output = links.CellOutput(cell=cell.order.cell, rank=message.key, kind=stream, text=text)  # type: ignore[arg-type]
            self.cells.output(output, links.encode(output))

    def forget(self, rank: int) -> None:
        """A rank's process is gone."""
        self._ranks.pop(rank, None)
        self.store.forget(rank)
        self.aggregate.forget(rank)
        self.confirmed.forget(rank)
        self.relay.forget(rank)

    def pid(self, rank: int) -> int | None:
        """Process of a rank."""
        members = self.membership.state.members
        return members[rank].pid if rank < len(members) else None

    def _replied(self, reply: links.CellReply) -> None:
        self._groups[reply.rank] = (reply.groups, reply.group_count)
        self.cells.reply(reply, self._operations.pop(reply.rank, None))
        self.membership.happened(on.CellReplied(reply.rank, reply.kind, reply.has_group, reply.sequence))
        self.aggregate.rests(not self.cells.busy)

    # ---- cells

    def _began(self, cell: str, ranks: tuple[int, ...]) -> None:
        self._operations = {r: o for r, o in self._operations.items() if r not in ranks}
        self.aggregate.unpointed.clear()
        self.aggregate.cell_began(ranks)
        self.membership.happened(on.CellBegan(cell, ranks))
        running = self.cells.get(cell)
        if running is not None and running.order.timeout_s is not None:
            loop = asyncio.get_running_loop()
            loop.call_later(running.order.timeout_s, self._timed_out, cell)

    def _timed_out(self, cell: str) -> None:
        running = self.cells.get(cell)
        if running is not None and self.relay.paused:  # somebody reads variables: that is not the cell's time
            asyncio.get_running_loop().call_later(PAUSED_S, self._timed_out, cell)
        elif running is not None:
            running.timed_out = True
            self.membership.happened(on.InterruptAsked(tuple(running.left)))

    def _note_operations(self, ranks: tuple[int, ...]) -> None:
        for rank in ranks:
            sample = self.aggregate.latest(rank)
            if sample is not None and sample.operation:
                self._operations.setdefault(rank, sample.operation)

    # ---- debugger

    def paused(self) -> bool:
        """Somebody looks at ranks that stand still."""
        return bool(self.relay.paused)

    def _alive(self) -> tuple[int, ...]:
        return tuple(sorted(self._ranks))

    def _paused_changed(self) -> None:
        self.aggregate.paused = frozenset(self.relay.paused)
        self.desk.moved()

    # ---- sending

    def _write_record(self) -> None:
        record.write(self.settings, self.aggregate.name, self.aggregate.created_at, warm=self.plan is None)

    def to_rank(self, rank: int, message: links.Message) -> None:
        """Send an order to a rank; one that is gone needs none."""
        peer = self._ranks.get(rank)
        if peer is not None:
            self.link.send(peer, [links.encode(message)])

    def _to_door(self, door: bytes, frames: list[bytes]) -> Sent:
        return self._door.send(door, frames)

    def _soon(self) -> None:
        if not self._flushes:
            self._flushes = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self, *, again: bool = False) -> None:
        self._flushes = False
        self.outlets.flush(again=again)
        if self.outlets.unfinished:
            self._soon()
        if self.outlets.full and self._again is None:
            self._again = asyncio.get_running_loop().call_later(TRY_AGAIN_S, self._try_again)

    def _try_again(self) -> None:
        self._again = None
        self._flush(again=True)

    # ---- the end

    def _fail(self) -> None:
        self.ending = True
        self.nodes.leave()
        asyncio.get_running_loop().call_later(LINGER_FAILED_S, self._done.set)


def _nothing() -> None:
    """Nobody holds a lease any more, and nothing follows from it."""


def _check_version(version: int, who: str) -> None:
    if version != VERSION:
        raise RuntimeError(
            f"{who} speaks version {version}, this head {VERSION}: one environment, one dtrain-lab"
        )


def main() -> None:
    """Entry point of `python -m dtrain_lab.head`."""
    if sys.argv[1:2] == ["observe"]:
        from dtrain_lab.head import observer

        asyncio.run(observer.Observer(Path(sys.argv[2])).run())
        return
    if len(sys.argv) > 1:  # in a batch script: the file is read once, and nobody reads it again
        file = Path(sys.argv[1])
        text = file.read_bytes()
        file.unlink()
    else:
        text = sys.stdin.buffer.read()
    settings = msgspec.json.decode(text, type=Settings)
    if not settings.directory:  # on another machine: a folder of that machine
        directory = str(private(sockets() / settings.id))
        record_file = settings.record or f"{directory}/record.json"
        settings = msgspec.structs.replace(settings, directory=directory, record=record_file)
    asyncio.run(Head(settings).run())
