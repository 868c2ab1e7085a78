"""A cluster's rank: assembles its parts, carries out the head's orders, and runs its cells.

Orders are carried out on the kernel's IOPub thread, cells run on the main thread. A cell's output and its
reply share one queue, so the reply is always last.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from msgspec.structs import replace

from dtrain_lab.cells.output_buffer import Names
from dtrain_lab.rank.cells import rank_variables
from dtrain_lab.rank.cells.backward_threads import BackwardThreads
from dtrain_lab.rank.cells.namespace_queries import NamespaceQueries
from dtrain_lab.rank.cells.runner import CellRunner, drain
from dtrain_lab.rank.debugger.debugger import RankDebugger
from dtrain_lab.rank.diagnosis.measure import measure
from dtrain_lab.rank.diagnosis.try_advice import try_change
from dtrain_lab.rank.engine import Registration
from dtrain_lab.rank.group.lifecycle import Group
from dtrain_lab.rank.group.link_store import PendingCalls
from dtrain_lab.rank.ipykernel import flush, main_lock
from dtrain_lab.rank.link.link import Link
from dtrain_lab.rank.link.location import location
from dtrain_lab.rank.link.main_tasks import MainTasks
from dtrain_lab.rank.link.order_reading import MainSelector
from dtrain_lab.rank.link.shared_memory import Shared
from dtrain_lab.rank.monitor.monitor import Monitor
from dtrain_lab.rank.notes import Notes
from dtrain_lab.rank.output import inline_figures
from dtrain_lab.rank.output.routing import route_output
from dtrain_lab.rank.output.stored_outputs import StoredOutputs
from dtrain_lab.rank.output.streams import RankStream
from dtrain_lab.rank.output.widgets import Widgets
from dtrain_lab.rank.setup import install_group_hooks
from dtrain_lab.rank.torch.compiler import untraced
from dtrain_lab.training import store_exchange
from dtrain_lab.training.gradients import unused
from dtrain_lab.training.rank_hooks import hooks
from dtrain_lab.wire import links
from dtrain_lab.wire.links import CellReply, RankSpec

events = logging.getLogger("dtrain_lab.rank")
LEAVE_WITHIN_S = 5.0
"""Seconds that the last messages have to arrive."""


class Rank:
    """One rank of a cluster: its kernel, process group, debugger and monitor, behind a link to the head.

    Args:
        app: the ipyparallel engine.
        kernel: the engine's kernel.
        spec: settings of this rank.
        memory: what the rank shares with its node agent.
        selector: selector of the main thread's loop.
    """

    def __init__(self, app: Any, kernel: Any, spec: RankSpec, memory: Shared, selector: MainSelector) -> None:
        self._spec = spec
        self._kernel = kernel
        self._io_loop = kernel.iopub_socket.io_loop.asyncio_loop
        loop = app.loop.asyncio_loop
        self._main_tasks = MainTasks(loop)
        self._link = Link(spec, loop, self._io_loop, selector, self._obey, self._begin)
        self._calls = PendingCalls(spec.rank, self._link.ask)
        self._group = Group(spec.rank, spec.world_size, "gloo", self._calls)
        self._notes = Notes()
        self._backward = BackwardThreads()
        sources = os.path.join(os.path.dirname(spec.log), "cells")
        self._cells = CellRunner(kernel, self._group, spec.rank, Names(memory.output), sources)
        self._widgets = Widgets(kernel, self._cells)
        send = self._link.send
        self._queries = NamespaceQueries(kernel, self._cells, send, spec.rank, loop)
        look, say = self._queries.look, self._notes.say
        self._debugger = RankDebugger(spec.rank, self._cells.compiled, self._io_loop, send, look, say)
        self._cells.began, self._cells.ended = self._cell_began, self._cell_ended
        selector.raised = self._handler_raised
        sys.breakpointhook = self._debugger.reached
        kernel.shell.register_magic_function(self._debugger.post_mortem, "line", "debug")
        self._registration = Registration(app, send)
        self._main = threading.main_thread().ident
        self._group.watch_objects()
        unused.explain(untraced)
        install_group_hooks(self._group, self._notes)
        self._monitor = (
            Monitor(memory.ring, spec.world_size, probe=spec.probe, guard=spec.guard, say=say)
            if spec.monitor
            else None
        )
        inline_figures.prepare()
        hooks.log = self._log
        rank_variables.define(kernel.shell, spec)
        self._views = route_output(app.session, kernel.iopub_socket, spec.rank, self._link.outbox)
        self._stored = StoredOutputs(self._io_loop, self._views, kernel.comm_manager.comms, self._to_widget)
        self._widgets.asked = self._stored.asked
        self._link.open(app.context)

    def _log(self, step: int, values: dict[str, float], at: float, averaged: bool) -> None:
        self._link.send(links.ValuesLogged(self._spec.rank, step, at, values, averaged))

    # ---- orders, on the IOPub thread

    def _obey(self, order: links.Message) -> None:
        match order:
            case links.StoreAnswer():
                self._calls.answered(order)
            case links.Abort(hooks):
                if hooks:
                    self._backward.interrupt(self._main or 0)
                self._group.break_waits()
            case links.ReadStacks():
                where = location(self._spec.rank, order, self._main, self._cells.compiled)
                self._link.outbox.put(where, now=True)
            case links.Execute() | links.Diagnose():
                self._main_tasks.hand_over(partial(self._execute, order))
            case links.OutputConfirmed(stream, through):
                getattr(sys, stream).confirm(through)
            case links.Register():
                self._registration.begin(order)
            case links.FormGroup():
                self._calls.forming(True)
                self._main_tasks.hand_over(partial(self._form, order))
            case links.Comm():
                self._to_widget(order, partial(self._handled, order.id))
            case links.Complete():
                self._main_tasks.hand_over(partial(self._queries.answer, order))
            case links.DebugRequest():
                self._debugger.received(order)
            case links.End():
                self._link.outbox.flush()
                self._main_tasks.hand_over(self._leave)

    def _to_widget(self, order: links.Comm, done: Callable[[], None]) -> None:
        if self._cells.busy or self._widgets.beside:
            self._widgets.take_beside(order, done)
        else:
            self._widgets.enqueue(order, done)
            self._main_tasks.hand_over(self._widgets.take)
            if self._cells.busy:  # a cell has begun meanwhile
                self._widgets.move_beside()

    def _handler_raised(self, error: Exception) -> None:
        events.error("a signal handler of the user's raised between cells", exc_info=error)
        text = f"{type(error).__name__}: {error}"[:500]
        self._notes.say(f"A signal handler raised {text} while no cell was running. The rank continues.")

    # ---- cells, on the main thread

    def _begin(self, order: links.Execute) -> None:
        """Begin a cell after the work that the IOPub thread has already scheduled on this loop."""
        self._main_tasks.begin(partial(self._execute, order))

    async def _execute(self, order: links.Execute | links.Diagnose) -> None:
        try:
            reply = await self._run(order)
        except Exception as error:
            # an error of ours, or raised by a user's signal handler: the head waits for a reply
            kind, text = type(error).__name__, str(error)[:2000]
            failed = CellReply(order.cell, self._spec.rank, "raised", kind, text)
            self._link.outbox.put(failed, now=True)
            raise
        # not in the `try`: a signal handler that raises here does so after the reply was queued
        self._link.finish(reply)

    async def _run(self, order: links.Execute | links.Diagnose) -> CellReply:
        self._notes.forget()
        self._backward.begin_cell()
        store_exchange.begin_cell(order.cell, self._group.store)
        if self._monitor is not None:
            self._monitor.begin_cell(order.cell, order.ranks, self._group.store)
        if isinstance(order, links.Execute):
            reply = await self._cells.run(order)
        else:
            change = order.change
            work = partial(try_change, self._monitor, change) if change else partial(measure, self._monitor)
            reply = await self._cells.measure(order.cell, work)
        self._backward.end_cell()
        if self._monitor is not None:
            self._monitor.end_cell()
            calls = self._monitor.calls() if reply.kind != "ok" else ()
            reply = replace(reply, steps=self._monitor.steps, calls=calls)
        return reply

    def _cell_began(self, cell: str) -> None:
        self._debugger.cell_began(cell)
        self._views.begin_cell(cell)
        if self._widgets.queued:
            self._io_loop.call_soon_threadsafe(self._widgets.move_beside)

    def _cell_ended(self, error: BaseException | None) -> None:
        """Called when a cell's code has run; what is printed here still counts as the cell's output."""
        self._debugger.cell_ended(error)
        if self._monitor is not None and error is None:
            self._monitor.compare()
        accumulations = sys.modules.get("dtrain_lab.training.gradients.active_accumulations")
        if accumulations is not None and error is None:
            accumulations.tell_unfinished()
        if self._views.any:
            self._stored.end_cell()
            self._link.outbox.write_out(self._tell_of_widgets)

    def _tell_of_widgets(self) -> None:
        for notice in self._views.end_cell(self._spec.rank):
            self._link.outbox.output(notice)

    async def _leave(self) -> None:
        """Exit without C++ destructors: torch's threads may abort a process that still has models."""
        try:
            # the thread that sends to another node has to live until the end
            atexit.unregister(self._kernel.iopub_socket.stop)
            atexit._run_exitfuncs()
            drain()
            for stream in RankStream.made.values():
                flush(stream)
            self._link.outbox.flush()
            # wait for an answer: the head sends it after it has read all earlier messages
            self._calls.ask(timedelta(seconds=LEAVE_WITHIN_S), operation="count", keys=())
        finally:
            os._exit(0)

    def _handled(self, number: int) -> None:
        handled = links.WidgetHandled(rank=self._spec.rank, id=number)
        self._io_loop.call_soon_threadsafe(self._link.finish, handled)

    async def _form(self, order: links.FormGroup) -> None:
        error = ""
        unpointed: tuple[str, ...] = ()
        async with main_lock(self._kernel):
            try:
                unpointed = self._group.form(order)
                rank_variables.resized(self._kernel.shell, self._spec, order)
                if self._monitor is not None:
                    self._monitor.shared_start.rebuilt()
            # torch may raise anything; the head decides what a failure means
            except Exception as failure:  # noqa: BLE001
                error = f"{type(failure).__name__}: {failure}"[:2000]
            finally:
                self._calls.forming(False)
        groups, count = self._group.specs()
        self._link.send(
            links.GroupFormed(
                rank=self._spec.rank,
                generation=order.generation,
                error=error,
                unpointed=unpointed,
                groups=groups,
                group_count=count,
            )
        )
