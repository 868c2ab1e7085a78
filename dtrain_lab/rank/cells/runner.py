"""Runs cells in a rank's kernel and reports their outcome."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from IPython.core.autocall import ExitAutocall
from IPython.core.error import StdinNotImplementedError, UsageError
from msgspec.structs import replace

from dtrain_lab.cells.errors import is_library
from dtrain_lab.cells.output_buffer import Names
from dtrain_lab.errors import DtrainError
from dtrain_lab.machine.signals import get_handler, set_handler
from dtrain_lab.rank import child_processes
from dtrain_lab.rank.cells import citations, failures, pager, torch_modes
from dtrain_lab.rank.cells import class_sources as cell_sources
from dtrain_lab.rank.cells.compiled_cells import CompiledCells
from dtrain_lab.rank.cells.interrupts import has_await, interruptible
from dtrain_lab.rank.cells.shell_errors import quiet
from dtrain_lab.rank.cells.transforms import quick_transform
from dtrain_lab.rank.group.lifecycle import Group
from dtrain_lab.rank.ipykernel import main_lock
from dtrain_lab.rank.notes import Notes
from dtrain_lab.rank.output.streams import RankStream
from dtrain_lab.training import log
from dtrain_lab.training.gradients import unused
from dtrain_lab.wire.links import CellReply, Execute
from dtrain_lab.wire.metrics.diagnosis import StepTimings

PYTHON_FLUSH_S = 0.002
"""Flush interval of stdout and stderr while a cell runs, seconds; OutStream's 0.2 s makes %%px lines late."""

LEFT = "exit ended this cell, and the ranks go on. To stop them: %distributed stop"


class CellRunner:
    """Runs cells one at a time on the main thread.

    Args:
        kernel: this rank's kernel.
        group: the process groups of this rank, whose state is reported after each cell.
        rank: number of this rank.
        names: shared with the node agent, so that it can name cells in the stack of a crashed rank.
        sources: folder where the debugger writes the files of cells.
    """

    def __init__(self, kernel: Any, group: Group, rank: int, names: Names, sources: str) -> None:
        self._kernel = kernel
        self._group = group
        self._rank = rank
        self.compiled = CompiledCells(kernel.shell, names, sources)
        self._transform = quick_transform(kernel.shell)
        citations.in_warnings(self.compiled.locate)
        citations.in_tracebacks(self.compiled.locate)
        citations.in_shell(kernel.shell, self.compiled.locate)
        pager.in_cells(kernel.shell)
        cell_sources.of_classes(self.compiled.files)
        child_processes.with_code()
        child_processes.fork_by_default()
        leave = _Leave()
        kernel.shell.push({"exit": leave, "quit": leave}, interactive=False)
        # IPython's hint after SystemExit is meant for a terminal
        warnings.filterwarnings("ignore", message="To exit: use 'exit'", category=UserWarning)
        self.began: Callable[[str], None] = lambda _: None
        """Called with the head's id of a cell when it has begun."""
        self.ended: Callable[[BaseException | None], None] = lambda _: None
        """Called with the error or None when a cell has ended, before its reply is made."""
        self.busy = False
        self.parent: dict[str, Any] = {}
        """Parent message of the last cell's output."""

    async def run(self, order: Execute) -> CellReply:
        """Run a cell; never raises, whatever the cell does.

        Args:
            order: the cell, and how it is labelled.

        Returns:
            How the cell ended, and the state of the rank's groups.
        """
        return await self._run(order.cell, partial(self._execute, order))

    async def measure(self, cell: str, work: Callable[[], StepTimings]) -> CellReply:
        """Run `diagnose` instead of a cell; never raises.

        Args:
            cell: the id under which the head knows it.
            work: measures; runs on the main thread, and can be interrupted like a cell.

        Returns:
            How it ended, with the timings.
        """
        timings: list[StepTimings] = []

        async def execute() -> BaseException | None:
            try:
                with interruptible(None):
                    timings.append(work())
            # the user's model may raise anything; the reply contains the error
            except BaseException as error:  # noqa: BLE001
                return error
            return None

        reply = await self._run(cell, execute)
        return replace(reply, timings=timings[0]) if timings else reply

    async def _run(self, cell: str, execute: Callable[[], Awaitable[BaseException | None]]) -> CellReply:
        kernel = self._kernel
        async with main_lock(kernel):  # ipyparallel's shell messages take the same lock
            self.parent = {"header": cell_header(cell), "content": {}}
            kernel.set_parent([], self.parent)
            for stream in RankStream.made.values():
                if stream is not sys.stdout and stream is not sys.stderr:  # set by the kernel
                    stream.set_parent(self.parent)
            self.busy = True
            self.began(cell)
            before, modes = get_handler(signal.SIGINT), torch_modes.current()
            with self.quick_streams(), quiet(kernel.shell) as shown:
                try:
                    error = await execute() or shown.inner
                except KeyboardInterrupt as late:  # another interrupt, after the cell's code
                    error = late
                finally:
                    # Python raises a pending interrupt when a function is entered, when a loop repeats, or
                    # instead of setting a handler. So this block has no call and no loop of its own: if the
                    # handler were not restored, the next interrupt would end the rank.
                    try:
                        set_handler(signal.SIGINT, before)
                    except KeyboardInterrupt:
                        try:
                            set_handler(signal.SIGINT, before)
                        except KeyboardInterrupt:
                            set_handler(signal.SIGINT, before)
                if isinstance(error, KeyboardInterrupt):
                    for told in torch_modes.restore(modes):
                        Notes().say(told)
                self.ended(error)
                drain()
                log.settle()  # the cell's last values go before its reply
            self.busy = False
            self.compiled.end()
            groups, count = self._group.specs()
            return CellReply(
                cell=cell,
                rank=self._rank,
                **self._outcome(error),
                has_group=self._has_group(),
                sequence=self._group.sequence(),
                groups=groups,
                group_count=count,
            )

    async def _execute(self, order: Execute) -> BaseException | None:
        shell = self._kernel.shell
        bad_syntax = None
        try:
            transformed = self._transform(order.code)
        # an input transformer failed: the shell reports that as the cell's error
        except Exception:  # noqa: BLE001
            transformed, bad_syntax = order.code, sys.exc_info()
        transformed = self.compiled.begin(order, transformed)
        waits = has_await(transformed)
        run = shell.run_cell_async(
            order.code,
            store_history=True,
            transformed_cell=transformed,
            preprocessing_exc_tuple=bad_syntax,
        )
        try:
            with interruptible(asyncio.ensure_future(run) if waits else None) as task:
                result = await (task if task is not None else run)
        except asyncio.CancelledError:
            return KeyboardInterrupt()
        except KeyboardInterrupt as interrupt:  # after the cell's last line, before our handler's removal
            return interrupt
        finally:
            shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
        failed: BaseException | None = result.error_before_exec or result.error_in_exec
        if isinstance(failed, asyncio.CancelledError):
            return KeyboardInterrupt()
        if isinstance(failed, SystemExit) and not failed.code:  # exit code 0 is success
            Notes().say(LEFT)  # the user may have meant to stop the cluster
            return None
        if isinstance(failed, SystemExit) and isinstance(failed.__context__, KeyboardInterrupt):
            return failed.__context__  # a framework has turned an interrupt into an exit code
        return failed

    def _outcome(self, error: BaseException | None) -> dict[str, Any]:
        if error is None:
            return {"kind": "ok"}
        error = unused.explained(error)
        frames = self.compiled.frames(error.__traceback__)
        if isinstance(error, UsageError):  # raised by a magic: IPython's own frames don't help the user
            frames = tuple(frame for frame in frames if frame.cell)
        ours = isinstance(error, (DtrainError, StdinNotImplementedError))
        while ours and len(frames) > 1 and is_library(frames[-1]):
            frames = frames[:-1]  # our own frames don't help the user
        if isinstance(error, SyntaxError) and self.compiled.locate(error.filename or "", 0)[0] is not None:
            frames = ()  # all frames are the shell's, which compiled the cell
        return {
            "kind": "interrupted" if isinstance(error, KeyboardInterrupt) else "raised",
            "type": type(error).__name__,
            "message": failures.message(error, self.compiled.locate),
            "frames": frames,
            "detail": failures.detail(error, self.compiled.locate, self.compiled.written_line),
        }

    def _has_group(self) -> bool:
        import torch.distributed as dist

        return bool(dist.is_initialized())

    @contextlib.contextmanager
    def quick_streams(self) -> Iterator[None]:
        """Flush stdout and stderr every 2 ms while the user's code runs."""
        streams = list(RankStream.made.values())
        usual = [s.flush_interval for s in streams]
        for stream in streams:
            stream.flush_interval = PYTHON_FLUSH_S
        try:
            yield
        finally:
            for stream, interval in zip(streams, usual, strict=True):
                stream.flush_interval = interval


class _Leave(ExitAutocall):  # type: ignore[misc]
    """`exit` and `quit`: end the cell, as they end a script, but not the rank."""

    def __call__(self, code: object = None) -> None:
        raise SystemExit(code)


def drain() -> None:
    """Read everything that C code and child processes have written so far."""
    for stream in RankStream.made.values():
        stream.drain()


def cell_header(cell: str) -> dict[str, str]:
    """Parent header of a cell's output, from which `rank.output.routing` takes the cell's id."""
    return {"msg_id": cell, "msg_type": "execute_request", "session": "dtrain", "dtrain_cell": cell}
